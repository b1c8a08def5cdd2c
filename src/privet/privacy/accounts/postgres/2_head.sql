-- The last entry, noted apart from the history, so that entries that are missing at its end are noticed. Only the trigger
-- writes it. The trigger also refuses an entry that does not follow the last one, that has another hash than its content,
-- or that releases a charge of which noise may have been drawn.
CREATE TABLE privet_budget.head (one integer PRIMARY KEY CHECK (one = 1), seq bigint NOT NULL, hash text NOT NULL);
INSERT INTO privet_budget.head
    SELECT 1, coalesce(max(seq), 0), coalesce((SELECT hash FROM privet_budget.history ORDER BY seq DESC LIMIT 1), '')
    FROM privet_budget.history;
GRANT SELECT ON privet_budget.head TO privet_owner, privet_analyst;

CREATE FUNCTION privet_budget.check_entry() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last record;
BEGIN
    SELECT seq, hash INTO STRICT last FROM privet_budget.head FOR UPDATE;
    IF NEW.seq <> last.seq + 1 OR NEW.before <> last.hash THEN
        RAISE EXCEPTION 'entry % does not follow entry %', NEW.seq, last.seq USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.hash <> encode(sha256(convert_to(concat_ws(E'\n', NEW.seq, NEW.kind, NEW.account, NEW.who, NEW.at, NEW.content,
            NEW.before), 'UTF8')), 'hex') THEN
        RAISE EXCEPTION 'entry % has another hash than its content', NEW.seq USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.kind = 'release' AND EXISTS (
        SELECT FROM privet_budget.history
        WHERE kind = 'commit' AND content::jsonb ->> 'charge' = NEW.content::jsonb ->> 'charge'
    ) THEN
        RAISE EXCEPTION 'a charge that was committed is not released' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    UPDATE privet_budget.head SET seq = NEW.seq, hash = NEW.hash;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION privet_budget.check_entry() FROM PUBLIC;
CREATE TRIGGER entries_follow_one_another BEFORE INSERT ON privet_budget.history
    FOR EACH ROW EXECUTE FUNCTION privet_budget.check_entry();
