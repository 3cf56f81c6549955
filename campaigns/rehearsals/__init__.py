"""Rehearsals: FCM checks what a campaign would send now, and delivers nothing.

Start with `actions.py`. A rehearsal is a run of the kind `rehearsal` (`runs/rehearsal.py`): the
engine draws its recipients (`engine/sampling.py`) and sends as it sends a campaign. Here is what
starts one, what its report says, and how the campaign's next run compares with it.
"""
