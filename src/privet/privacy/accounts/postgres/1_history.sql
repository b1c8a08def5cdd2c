-- The history of privet's budgets, and who may do what with it. Run by the owner of the database, or by
-- `privet budget create`; `privet budget sql` prints it. Roles are shared by all databases of a server.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'privet_owner') THEN
        CREATE ROLE privet_owner NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'privet_analyst') THEN
        CREATE ROLE privet_analyst NOLOGIN;
    END IF;
END
$$;

CREATE SCHEMA privet_budget;
REVOKE ALL ON SCHEMA privet_budget FROM PUBLIC;

CREATE TABLE privet_budget.about (one integer PRIMARY KEY CHECK (one = 1), version integer NOT NULL);
INSERT INTO privet_budget.about VALUES (1, 1);

CREATE TABLE privet_budget.history (
    seq bigint PRIMARY KEY,
    kind text NOT NULL,
    account text NOT NULL,
    who text NOT NULL,
    at text NOT NULL,
    content text NOT NULL,
    before text NOT NULL,
    hash text NOT NULL UNIQUE
);

-- Nobody alters, deletes or empties the history, not even the owner of the table, unless they remove this first.
CREATE FUNCTION privet_budget.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the history of a budget is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER history_is_never_altered BEFORE UPDATE OR DELETE ON privet_budget.history
    FOR EACH ROW EXECUTE FUNCTION privet_budget.refuse_change();
CREATE TRIGGER history_is_never_emptied BEFORE TRUNCATE ON privet_budget.history
    FOR EACH STATEMENT EXECUTE FUNCTION privet_budget.refuse_change();

-- The least rights: both roles read and append. What they may append is decided row by row: an analyst spends, an owner
-- also creates, limits, raises and closes accounts, and each signs as the user of the session.
GRANT USAGE ON SCHEMA privet_budget TO privet_owner, privet_analyst;
GRANT SELECT ON privet_budget.about TO privet_owner, privet_analyst;
GRANT SELECT, INSERT ON privet_budget.history TO privet_owner, privet_analyst;
ALTER TABLE privet_budget.history ENABLE ROW LEVEL SECURITY;
ALTER TABLE privet_budget.history FORCE ROW LEVEL SECURITY;
CREATE POLICY all_read ON privet_budget.history FOR SELECT USING (true);
CREATE POLICY analysts_spend ON privet_budget.history FOR INSERT TO privet_analyst
    WITH CHECK (who = session_user AND kind IN ('reserve', 'commit', 'release', 'model'));
CREATE POLICY owners_do_all ON privet_budget.history FOR INSERT TO privet_owner WITH CHECK (who = session_user);
