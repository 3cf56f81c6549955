-- What was sent stays what it was.
CREATE OR REPLACE FUNCTION run_revisions_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A revision of a run''s text is never changed: % is refused.', TG_OP
        USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE OR REPLACE TRIGGER run_revisions_stay BEFORE UPDATE ON campaigns_runrevision
    FOR EACH ROW EXECUTE FUNCTION run_revisions_stay();
