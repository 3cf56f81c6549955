-- Events have no primary key: nobody looks for one event, and what a person does twice in one
-- moment is two events. They have no foreign key: a thousand events would look up their person a
-- thousand times, where one statement does it once.
CREATE TABLE IF NOT EXISTS notifications_event (
    project_id bigint NOT NULL,
    contact_id bigint NOT NULL,
    at timestamptz NOT NULL,
    name varchar(64) NOT NULL,
    properties jsonb NOT NULL DEFAULT '{}',
    received_at timestamptz -- only if `at` was ahead of our clock: so it costs no byte else
) PARTITION BY RANGE (at);

-- Who did X: 10,000,000 events of 1,000,000 people are counted in 0.3 to 2.4 s, and 20,000 people
-- are looked up one by one in 0.05 to 0.2 s, both from the index alone. An index on
-- (project_id, name, at) serves only the first.
CREATE INDEX IF NOT EXISTS event_by_name ON notifications_event (project_id, name, contact_id, at);
-- What did this person do.
CREATE INDEX IF NOT EXISTS event_of_contact ON notifications_event (contact_id, at);
-- Which parts hold anything old: a few kilobytes, because events come nearly in the order of time.
CREATE INDEX IF NOT EXISTS event_by_time ON notifications_event
    USING brin (at) WITH (autosummarize = on);

-- Deleting a person deletes their events, whichever code deletes the person.
CREATE OR REPLACE FUNCTION events_go_with_their_people() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM notifications_event USING gone WHERE contact_id = gone.id;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER events_go_with_their_people AFTER DELETE ON notifications_contact
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION events_go_with_their_people();
