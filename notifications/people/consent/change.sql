-- The history of a person's answers is only added to.
CREATE OR REPLACE FUNCTION consent_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The history of consent is append-only: % is refused.', TG_OP
        USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE OR REPLACE TRIGGER consent_is_append_only BEFORE UPDATE ON notifications_consentchange
    FOR EACH ROW EXECUTE FUNCTION consent_is_append_only();
