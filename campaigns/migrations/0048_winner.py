from django.db import migrations, models

# The release before runs beside this one, and knows no variant that is chosen for the rest:
#
# - It launches a campaign that asks for one: its run asks for it too.
# - It freezes people: a constraint keeps the run from sending, and this release freezes it.
# - It lets the rest go: no variant is chosen, so its UPDATE finds no row, as when somebody else was
#   faster.
# - It claims a chunk of the rest: it would send the main text, so its claim is left out.
GUARDS = """
CREATE FUNCTION run_gets_its_winner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.winner_by := 'own';
    IF NEW.kind = 'campaign' THEN
        SELECT winner_by INTO NEW.winner_by
        FROM campaigns_campaign WHERE id = NEW.campaign_id;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER run_gets_its_winner BEFORE INSERT ON campaigns_run FOR EACH ROW
    WHEN (NEW.winner_by IS NULL) EXECUTE FUNCTION run_gets_its_winner();

CREATE FUNCTION rest_waits_for_its_variant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM campaigns_run
            WHERE id = NEW.run_id AND winner_by IN ('opened', 'goal') AND winner IS NULL) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER rest_waits_for_its_variant BEFORE UPDATE OF went_on_at ON campaigns_firstpart
    FOR EACH ROW WHEN (OLD.went_on_at IS NULL AND NEW.went_on_at IS NOT NULL)
    EXECUTE FUNCTION rest_waits_for_its_variant();

CREATE FUNCTION rest_is_left_alone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM campaigns_run WHERE id = NEW.run_id AND winner_by IN ('opened', 'goal')) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER rest_is_left_alone BEFORE UPDATE OF state ON campaigns_chunk FOR EACH ROW
    WHEN (NEW.follows AND NEW.split AND NEW.state = 'leased' AND OLD.state <> 'leased'
        AND NEW.winner_attempt IS DISTINCT FROM NEW.attempt)
    EXECUTE FUNCTION rest_is_left_alone();
"""
UNGUARDED = """
DROP TRIGGER rest_is_left_alone ON campaigns_chunk;
DROP FUNCTION rest_is_left_alone();
DROP TRIGGER rest_waits_for_its_variant ON campaigns_firstpart;
DROP FUNCTION rest_waits_for_its_variant();
DROP TRIGGER run_gets_its_winner ON campaigns_run;
DROP FUNCTION run_gets_its_winner();
"""
BY = [
    ('own', 'Each a variant of their own'),
    ('opened', 'The variant that more people opened'),
    ('goal', 'The variant that brought the goal about from more people'),
]


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0047_variants'),
    ]

    operations = [
        migrations.AddField(
            model_name='campaign',
            name='winner_by',
            field=models.CharField(choices=BY, db_default='own', default='own', max_length=6),
        ),
        migrations.AddField(
            model_name='chunk',
            name='winner_attempt',
            field=models.PositiveIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='winner',
            field=models.SmallIntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='winner_by',
            field=models.CharField(choices=BY, default='own', max_length=6, null=True),
        ),
        migrations.AddField(
            model_name='run',
            name='winner_drawn',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(('winner_by__in', ['opened', 'goal']), _negated=True),
                    models.Q(('state', 'sending'), _negated=True),
                    ('winner_drawn', True),
                    _connector='OR',
                ),
                name='variants_are_tried_by_the_first',
            ),
        ),
        migrations.RunSQL(GUARDS, UNGUARDED),
    ]
