-- Deleting a person deletes their inbox, and a text goes with the last item that shows it: it holds
-- words that the person may have had erased.
CREATE OR REPLACE FUNCTION inbox_goes_with_its_people() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM notifications_inboxitem USING gone WHERE contact_id = gone.id;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER inbox_goes_with_its_people AFTER DELETE ON notifications_contact
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION inbox_goes_with_its_people();

CREATE OR REPLACE FUNCTION texts_go_with_their_last_item() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM notifications_inboxtext t
    WHERE t.id IN (SELECT text_id FROM gone)
        AND NOT EXISTS (SELECT FROM notifications_inboxitem i WHERE i.text_id = t.id);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER texts_go_with_their_last_item AFTER DELETE ON notifications_inboxitem
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION texts_go_with_their_last_item();
