from django.db import migrations

# Without a primary key: nobody looks for one event, and what a person does twice in one moment is
# two events. Without a foreign key: a thousand events would ask a thousand times for their person,
# where one statement does. Erasing is the trigger's: it takes the events of everybody whom a
# statement deletes, whichever door or release that came through.
TABLE = """
CREATE TABLE notifications_event (
    project_id bigint NOT NULL,
    contact_id bigint NOT NULL,
    at timestamptz NOT NULL,
    name varchar(64) NOT NULL,
    properties jsonb NOT NULL DEFAULT '{}'
) PARTITION BY RANGE (at);

-- Who did X: 10,000,000 events of 1,000,000 people are counted in 0.3 to 2.4 s, and 20,000 people
-- are looked up one by one in 0.05 to 0.2 s, both without touching the rows themselves. An index
-- on (project_id, name, at) serves the first alone.
CREATE INDEX event_by_name ON notifications_event (project_id, name, contact_id, at);
-- What did this person do.
CREATE INDEX event_of_contact ON notifications_event (contact_id, at);

-- Which parts hold anything old: a few kilobytes, since events come nearly in the order of time.
CREATE INDEX event_by_time ON notifications_event USING brin (at) WITH (autosummarize = on);

CREATE FUNCTION events_go_with_their_people() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM notifications_event USING gone WHERE contact_id = gone.id;
    RETURN NULL;
END $$;
CREATE TRIGGER events_go_with_their_people AFTER DELETE ON notifications_contact
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION events_go_with_their_people();
"""
UNDONE = """
DROP TRIGGER events_go_with_their_people ON notifications_contact;
DROP FUNCTION events_go_with_their_people();
DROP TABLE notifications_event;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('notifications', '0017_imports'),
    ]

    operations = [migrations.RunSQL(TABLE, UNDONE)]
