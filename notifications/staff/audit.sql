-- The audit trail is only added to. UPDATE and DELETE are refused row by row, TRUNCATE as a whole;
-- test databases are emptied between tests, so those are spared the last one by their name.
CREATE OR REPLACE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' AND current_database() LIKE 'test\_%' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'The audit trail is append-only: % is refused.', TG_OP
        USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE OR REPLACE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON notifications_auditentry
    FOR EACH ROW EXECUTE FUNCTION audit_is_append_only();
CREATE OR REPLACE TRIGGER audit_is_not_emptied BEFORE TRUNCATE ON notifications_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
