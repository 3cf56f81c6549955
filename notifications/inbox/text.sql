-- An item that says something newer shows the text before no more. Each row by itself: a trigger of
-- the whole statement would also run whenever somebody reads an item.
CREATE OR REPLACE FUNCTION texts_go_when_no_item_shows_them() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM notifications_inboxtext t
    WHERE t.id = OLD.text_id
        AND NOT EXISTS (SELECT FROM notifications_inboxitem i WHERE i.text_id = OLD.text_id);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER texts_go_when_no_item_shows_them
    AFTER UPDATE OF text_id ON notifications_inboxitem
    FOR EACH ROW WHEN (OLD.text_id <> NEW.text_id)
    EXECUTE FUNCTION texts_go_when_no_item_shows_them();
