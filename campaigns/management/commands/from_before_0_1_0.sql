-- What a database of the last commit before 0.1.0 has and release 0.1.0 has not. Can be run again.

-- Guards against the workers of earlier releases; their triggers go with them.
DROP FUNCTION IF EXISTS chunk_is_left_alone() CASCADE;
DROP FUNCTION IF EXISTS rest_is_left_alone() CASCADE;
DROP FUNCTION IF EXISTS rest_waits_for_its_variant() CASCADE;
DROP FUNCTION IF EXISTS run_gets_its_hour() CASCADE;
DROP FUNCTION IF EXISTS run_gets_its_split() CASCADE;
DROP FUNCTION IF EXISTS run_gets_its_winner() CASCADE;
DROP FUNCTION IF EXISTS run_is_frozen_in_groups() CASCADE;
DROP FUNCTION IF EXISTS run_is_on_its_days() CASCADE;
DROP FUNCTION IF EXISTS run_is_once_each() CASCADE;
DROP FUNCTION IF EXISTS run_is_spread() CASCADE;
DROP FUNCTION IF EXISTS run_is_where_it_was_moved() CASCADE;
DROP FUNCTION IF EXISTS run_keeps_to_opens() CASCADE;

UPDATE campaigns_run SET once_each = COALESCE(once_each, FALSE), split = COALESCE(split, '{}'),
    winner_by = COALESCE(winner_by, 'own')
WHERE once_each IS NULL OR split IS NULL OR winner_by IS NULL;
UPDATE campaigns_retry SET copies = 0 WHERE copies IS NULL;

ALTER TABLE campaigns_run
    DROP CONSTRAINT IF EXISTS a_finished_run_is_frozen_whole,
    DROP CONSTRAINT IF EXISTS a_first_part_is_drawn_first,
    DROP CONSTRAINT IF EXISTS variants_are_tried_by_the_first,
    DROP CONSTRAINT IF EXISTS who_had_it_is_left_out,
    DROP CONSTRAINT IF EXISTS who_is_spread_is_marked,
    DROP CONSTRAINT IF EXISTS who_keeps_to_opens_is_marked,
    DROP CONSTRAINT IF EXISTS who_waits_for_an_hour_is_marked,
    DROP COLUMN IF EXISTS assigned,
    DROP COLUMN IF EXISTS cause_detail,
    DROP COLUMN IF EXISTS first_drawn,
    DROP COLUMN IF EXISTS frozen_through,
    DROP COLUMN IF EXISTS knows_days,
    DROP COLUMN IF EXISTS winner_drawn,
    ALTER COLUMN once_each SET DEFAULT FALSE,
    ALTER COLUMN once_each SET NOT NULL,
    ALTER COLUMN split SET DEFAULT '{}',
    ALTER COLUMN split SET NOT NULL,
    ALTER COLUMN winner_by SET DEFAULT 'own',
    ALTER COLUMN winner_by SET NOT NULL;
ALTER TABLE campaigns_chunk
    DROP COLUMN IF EXISTS split,
    DROP COLUMN IF EXISTS split_attempt,
    DROP COLUMN IF EXISTS winner_attempt;
ALTER TABLE campaigns_retry
    ALTER COLUMN copies SET DEFAULT 0,
    ALTER COLUMN copies SET NOT NULL;
ALTER TABLE campaigns_audience DROP COLUMN IF EXISTS rules_before;
ALTER TABLE campaigns_message
    DROP CONSTRAINT IF EXISTS campaigns_message_ttl_seconds_check,
    ADD CONSTRAINT campaigns_message_ttl_seconds_check CHECK (ttl_seconds >= 0);
ALTER TABLE campaigns_textcheck
    DROP CONSTRAINT IF EXISTS text_checks_go_with_their_campaign,
    DROP CONSTRAINT IF EXISTS campaigns_textcheck_campaign_id_9a4d35fb_fk_campaigns,
    ADD CONSTRAINT campaigns_textcheck_campaign_id_9a4d35fb_fk_campaigns
        FOREIGN KEY (campaign_id) REFERENCES campaigns_campaign (id) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE notifications_auditentry ALTER COLUMN subject SET DEFAULT '';
DROP INDEX IF EXISTS audit_of_a_text;
