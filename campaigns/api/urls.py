from __future__ import annotations

from django.urls import path

from campaigns.alerts import api as alerts
from campaigns.api import backpressure
from campaigns.audiences.api import audiences, lists
from campaigns.audiences.api import run_lists as lists_of_runs
from campaigns.corrections import api as corrections
from campaigns.engagement import api as receipts
from campaigns.forecast import api as quota
from campaigns.planning.api import campaigns, check, schedules
from campaigns.rehearsals import api as rehearsals
from campaigns.results.api import breakdown, funnel, revisions, variants
from campaigns.results.why import api as why
from campaigns.runs.api import deliveries, runs, steering
from campaigns.runs.messages.api import messages
from campaigns.test_sends import api as test_sends
from campaigns.text_check import api as text_checks
from campaigns.texts.api import snippets, templates, translations
from campaigns.triggers import api as automations
from campaigns.verbs import VERBS
from campaigns.webhooks import api as endpoints

urlpatterns = [
    path("alerts", alerts.Alerts.as_view()),
    path("alerts/<int:pk>", alerts.AlertById.as_view(), name="api-alert"),
    path("alerts/<int:pk>/acknowledge", alerts.AlertAcknowledge.as_view()),
    path("audiences", audiences.Audiences.as_view()),
    path("audiences/estimate", audiences.AudienceEstimate.as_view()),
    path("audiences/<int:pk>", audiences.AudienceById.as_view(), name="api-audience"),
    path("audiences/<int:pk>/explain", audiences.AudienceExplain.as_view()),
    path("automations", automations.Automations.as_view()),
    path("automations/<int:pk>", automations.AutomationById.as_view(), name="api-automation"),
    *(
        path(f"automations/<int:pk>/{verb}", automations.door(verb).as_view())
        for verb in automations.VERBS
    ),
    path("backpressure", backpressure.Backpressure.as_view()),
    path("deliveries", deliveries.DeliveriesOfOne.as_view()),
    path("endpoints", endpoints.Endpoints.as_view()),
    path("endpoints/<int:pk>", endpoints.EndpointById.as_view(), name="api-endpoint"),
    path("endpoints/<int:pk>/deliveries", endpoints.EndpointDeliveries.as_view()),
    path("endpoints/<int:pk>/replay", endpoints.EndpointReplay.as_view()),
    path("endpoints/<int:pk>/secret", endpoints.EndpointSecret.as_view()),
    path("endpoints/<int:pk>/test", endpoints.EndpointTest.as_view()),
    path("holidays", schedules.Holidays.as_view()),
    path("lists", lists.Lists.as_view()),
    path("lists/<int:pk>", lists.ListById.as_view(), name="api-list"),
    path("lists/<int:pk>/members", lists.ListMembers.as_view()),
    path("snippets", snippets.Snippets.as_view()),
    path("snippets/<int:pk>", snippets.SnippetById.as_view(), name="api-snippet"),
    path("snippets/<int:pk>/used-by", snippets.SnippetUsers.as_view()),
    path("templates", templates.Templates.as_view()),
    path("templates/<int:pk>", templates.TemplateById.as_view(), name="api-template"),
    path("templates/<int:pk>/preview", templates.TemplatePreview.as_view()),
    path("templates/<int:pk>/test", test_sends.TemplateTest.as_view()),
    path("tests/<int:pk>", test_sends.TestById.as_view(), name="api-test"),
    path("templates/<int:pk>/texts.csv", translations.TemplateCsv.as_view()),
    path("templates/<int:pk>/texts.xliff", translations.TemplateXliff.as_view()),
    path("templates/<int:pk>/translations", translations.TemplateTranslations.as_view()),
    path("campaigns", campaigns.Campaigns.as_view()),
    path("campaigns/<int:pk>", campaigns.CampaignById.as_view(), name="api-campaign"),
    path("campaigns/<int:pk>/check", check.CampaignCheck.as_view()),
    path("campaigns/<int:pk>/launch", campaigns.CampaignLaunch.as_view()),
    path("campaigns/<int:pk>/test", test_sends.CampaignTest.as_view()),
    path("campaigns/<int:pk>/stop", campaigns.CampaignStop.as_view()),
    path("campaigns/<int:pk>/pause", campaigns.CampaignPause.as_view()),
    path("campaigns/<int:pk>/resume", campaigns.CampaignResume.as_view()),
    path("campaigns/<int:pk>/move", campaigns.CampaignMove.as_view()),
    path("campaigns/<int:pk>/text-check", text_checks.CampaignTextCheck.as_view()),
    path("campaigns/<int:pk>/text-check/cancel", text_checks.TextCheckCancel.as_view()),
    path("campaigns/<int:pk>/rehearse", rehearsals.CampaignRehearse.as_view()),
    path("campaigns/<int:pk>/rehearsals", rehearsals.CampaignRehearsals.as_view()),
    path("messages", messages.Messages.as_view()),
    path("messages/bulk", messages.MessagesBulk.as_view()),
    path("messages/<path:pk>/cancel", messages.MessageCancel.as_view()),
    path("messages/<path:pk>", messages.MessageById.as_view(), name="api-message"),
    path("quota", quota.Quota.as_view()),
    path("receipts", receipts.Receipts.as_view()),
    path("rehearsals/<int:pk>", rehearsals.RehearsalById.as_view(), name="api-rehearsal"),
    path("rehearsals/<int:pk>/resume", rehearsals.RehearsalResume.as_view()),
    path("rehearsals/<int:pk>/cancel", rehearsals.RehearsalCancel.as_view()),
    path("rehearsals/<int:pk>/restore-devices", rehearsals.RehearsalRestore.as_view()),
    path("runs", runs.Runs.as_view()),
    path("runs/<int:pk>", runs.RunById.as_view(), name="api-run"),
    path("runs/<int:pk>/breakdown", breakdown.RunBreakdown.as_view()),
    path("runs/<int:pk>/correct", corrections.RunCorrect.as_view()),
    path("runs/<int:pk>/list", lists_of_runs.RunList.as_view()),
    path("runs/<int:pk>/funnel", funnel.RunFunnel.as_view()),
    path("runs/<int:pk>/deliveries", deliveries.Deliveries.as_view()),
    path("runs/<int:pk>/deliveries.csv", deliveries.DeliveriesCsv.as_view()),
    path("runs/<int:pk>/revisions", revisions.RunRevisions.as_view()),
    path("runs/<int:pk>/variants", variants.RunVariants.as_view()),
    path("runs/<int:pk>/why", why.RunWhy.as_view()),
    *(path(f"runs/<int:pk>/{verb.path}", steering.door(verb).as_view()) for verb in VERBS),
]
