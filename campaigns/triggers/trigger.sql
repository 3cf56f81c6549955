-- Deleting a person deletes what automations had planned for them, whichever code deletes the
-- person.
CREATE OR REPLACE FUNCTION triggers_go_with_their_people() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM campaigns_trigger USING gone WHERE contact_id = gone.id;
    DELETE FROM campaigns_lastsent USING gone WHERE contact_id = gone.id;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER triggers_go_with_their_people AFTER DELETE ON notifications_contact
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION triggers_go_with_their_people();
