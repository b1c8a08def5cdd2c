-- The rules of spending, checked by the server too: what it adds up to is kept beside the history, and an entry that breaks
-- a rule is refused before it is written, whoever writes it. So an analyst who writes SQL by hand can neither overspend a
-- store nor make it unusable. privet replays the history by its own rules all the same; only whether a charge has the
-- releases that its slot was declared for is left to it. Nobody has rights to these tables; the trigger alone writes them.
CREATE TABLE privet_budget.accounts (
    name text PRIMARY KEY,
    parent text,
    limits jsonb NOT NULL,
    closed boolean NOT NULL DEFAULT false
);
CREATE TABLE privet_budget.parts (
    account text NOT NULL,
    of text NOT NULL,
    name text NOT NULL,
    limits jsonb NOT NULL,
    PRIMARY KEY (account, of, name)
);
CREATE TABLE privet_budget.charges (
    charge text PRIMARY KEY,
    accounts text[] NOT NULL,
    who text NOT NULL,
    purpose text NOT NULL,
    protects text NOT NULL,
    slots jsonb NOT NULL,
    epsilon numeric,
    rho numeric,
    status text NOT NULL
);

CREATE FUNCTION privet_budget.refuse(problem text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', problem USING ERRCODE = 'integrity_constraint_violation';
END
$$;

-- A fraction as text, in units of 10^-40, which all numbers of a history are multiples of: a cost is rounded up, a limit down.
CREATE FUNCTION privet_budget.units(fraction text, up boolean) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    above numeric;
    below numeric;
BEGIN
    IF fraction IS NULL THEN
        RETURN NULL;
    END IF;
    IF length(fraction) > 2000 OR fraction !~ '^[0-9]+(/0*[1-9][0-9]*)?$' THEN
        PERFORM privet_budget.refuse('a cost or a limit is a fraction that is not negative');
    END IF;
    above := split_part(fraction, '/', 1)::numeric * 10::numeric ^ 40;
    below := coalesce(nullif(split_part(fraction, '/', 2), ''), '1')::numeric;
    RETURN div(above + CASE WHEN up THEN below - 1 ELSE 0 END, below);
END
$$;

CREATE FUNCTION privet_budget.admits(limits jsonb, epsilon numeric, rho numeric) RETURNS boolean LANGUAGE sql AS $$
    SELECT coalesce(epsilon <= privet_budget.units(limits ->> 'epsilon', false), false)
        OR coalesce(rho <= privet_budget.units(limits ->> 'rho', false), false)
$$;

-- What a charge brings an account to, or an analyst's or a purpose's part of it: within the limit, or an error.
CREATE FUNCTION privet_budget.check_sum(
    account text, limits jsonb, of text, part text, epsilon numeric, rho numeric
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    spent record;
BEGIN
    SELECT CASE WHEN count(*) = count(c.epsilon) THEN coalesce(sum(c.epsilon), 0) END AS epsilon,
        CASE WHEN count(*) = count(c.rho) THEN coalesce(sum(c.rho), 0) END AS rho
        INTO spent FROM privet_budget.charges AS c
        WHERE account = ANY (c.accounts) AND c.status <> 'released'
            AND (of = 'all' OR (of = 'analyst' AND c.who = part) OR (of = 'purpose' AND c.purpose = part));
    IF NOT privet_budget.admits(limits, spent.epsilon + epsilon, spent.rho + rho) THEN
        PERFORM privet_budget.refuse(format('a charge beyond the limit of the account %L', account));
    END IF;
END
$$;

CREATE FUNCTION privet_budget.check_slot(
    account text, limits jsonb, content jsonb, epsilon numeric, rho numeric
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    place text := content -> 'slots' ->> account;
    slot jsonb;
    used bigint;
BEGIN
    IF place IS NULL OR place !~ '^[0-9]{1,6}$' OR jsonb_typeof(content -> 'slots' -> account) <> 'number' THEN
        PERFORM privet_budget.refuse(format('a charge without a slot of the account %L', account));
    END IF;
    slot := limits -> 'slots' -> place::integer;
    SELECT count(*) INTO used FROM privet_budget.charges AS c
        WHERE account = ANY (c.accounts) AND c.status <> 'released' AND c.slots ->> account = place;
    IF slot IS NULL OR used >= (slot ->> 'count')::bigint
        OR (slot ? 'epsilon' AND NOT coalesce(epsilon <= privet_budget.units(slot ->> 'epsilon', false), false))
        OR (slot ? 'rho' AND NOT coalesce(rho <= privet_budget.units(slot ->> 'rho', false), false)) THEN
        PERFORM privet_budget.refuse(format('a charge that its slot of the account %L does not admit', account));
    END IF;
END
$$;

CREATE FUNCTION privet_budget.check_charge(who_writes text, content jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    names text[] := ARRAY(SELECT jsonb_array_elements_text(content -> 'accounts'));
    expected text[] := '{}';
    above text;
    own record;
    part record;
    use text := coalesce(content ->> 'purpose', '');
    epsilon numeric := privet_budget.units(content ->> 'epsilon', true);
    rho numeric := privet_budget.units(content ->> 'rho', true);
    charged text;
BEGIN
    FOREACH charged IN ARRAY names LOOP
        above := charged;
        WHILE above IS NOT NULL LOOP
            IF NOT EXISTS (SELECT FROM privet_budget.accounts AS a WHERE a.name = above AND NOT a.closed) THEN
                PERFORM privet_budget.refuse(format('there is no open account %L', above));
            END IF;
            expected := CASE WHEN above = ANY (expected) THEN expected ELSE expected || above END;
            SELECT a.parent INTO above FROM privet_budget.accounts AS a WHERE a.name = above;
        END LOOP;
    END LOOP;
    IF names = '{}' OR names <> expected OR coalesce(content ->> 'charge', '') = '' OR coalesce(epsilon, rho) IS NULL
        OR jsonb_typeof(content -> 'what') IS DISTINCT FROM 'string'
        OR jsonb_typeof(content -> 'protects') IS DISTINCT FROM 'string'
        OR NOT content ? 'epsilon' OR NOT content ? 'rho'
        OR coalesce(jsonb_typeof(content -> 'purpose'), 'string') <> 'string'
        OR coalesce(jsonb_typeof(content -> 'details'), 'object') <> 'object'
        OR coalesce(jsonb_typeof(content -> 'slots'), 'object') <> 'object' THEN
        PERFORM privet_budget.refuse('not a charge to accounts and to all that they are parts of');
    END IF;
    FOREACH charged IN ARRAY names LOOP
        SELECT * INTO own FROM privet_budget.accounts AS a WHERE a.name = charged;
        IF EXISTS (
            SELECT FROM privet_budget.charges AS c
            WHERE charged = ANY (c.accounts) AND c.protects <> content ->> 'protects'
        ) THEN
            PERFORM privet_budget.refuse(format('the account %L was begun for another relation or unit', charged));
        END IF;
        IF own.limits ? 'slots' THEN
            PERFORM privet_budget.check_slot(charged, own.limits, content, epsilon, rho);
            CONTINUE;
        END IF;
        IF content -> 'slots' ? charged THEN
            PERFORM privet_budget.refuse(format('the account %L has no slots', charged));
        END IF;
        PERFORM privet_budget.check_sum(charged, own.limits, 'all', '', epsilon, rho);
        FOR part IN SELECT p.of, p.name, p.limits FROM privet_budget.parts AS p WHERE p.account = charged
            AND ((p.of = 'analyst' AND p.name = who_writes) OR (p.of = 'purpose' AND p.name = use)) LOOP
            PERFORM privet_budget.check_sum(charged, part.limits, part.of, part.name, epsilon, rho);
        END LOOP;
        IF EXISTS (SELECT FROM privet_budget.parts AS p WHERE p.account = charged AND p.of = 'purpose')
            AND NOT EXISTS (
                SELECT FROM privet_budget.parts AS p WHERE p.account = charged AND p.of = 'purpose' AND p.name = use
            ) THEN
            PERFORM privet_budget.refuse(format('the account %L has limits for each purpose', charged));
        END IF;
    END LOOP;
    IF EXISTS (SELECT FROM jsonb_object_keys(content -> 'slots') AS key WHERE key <> ALL (names)) THEN
        PERFORM privet_budget.refuse('a slot of an account that is not charged');
    END IF;
    INSERT INTO privet_budget.charges VALUES (
        content ->> 'charge', names, who_writes, use, content ->> 'protects', coalesce(content -> 'slots', '{}'), epsilon, rho,
        'reserved'
    );
END
$$;

CREATE FUNCTION privet_budget.apply(kind text, account text, who text, content jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF kind IN ('reserve', 'commit', 'release', 'model') AND jsonb_typeof(content -> 'charge') IS DISTINCT FROM 'string' THEN
        PERFORM privet_budget.refuse('an entry without a charge');
    END IF;
    IF kind = 'reserve' THEN
        PERFORM privet_budget.check_charge(who, content);
    ELSIF kind IN ('commit', 'release') THEN
        UPDATE privet_budget.charges AS c SET status = CASE kind WHEN 'commit' THEN 'committed' ELSE 'released' END
            WHERE c.charge = content ->> 'charge' AND c.status = 'reserved';
        IF NOT FOUND OR (kind = 'release' AND NOT content ? 'why') THEN
            PERFORM privet_budget.refuse('only a charge that was reserved, and neither committed nor released, can be '
                || CASE kind WHEN 'commit' THEN 'committed' ELSE 'released, with a reason' END);
        END IF;
    ELSIF kind = 'model' THEN
        IF NOT content ? 'digest' OR NOT EXISTS (SELECT FROM privet_budget.charges WHERE charge = content ->> 'charge') THEN
            PERFORM privet_budget.refuse('a model of a charge that does not exist');
        END IF;
    ELSIF kind = 'create' THEN
        INSERT INTO privet_budget.accounts VALUES (account, content ->> 'parent', content -> 'limit', false);
    ELSIF kind = 'raise' THEN
        UPDATE privet_budget.accounts AS a SET limits = content -> 'limit' WHERE a.name = account AND NOT a.closed;
    ELSIF kind = 'limit' THEN
        INSERT INTO privet_budget.parts VALUES (account, content ->> 'of', content ->> 'name', content -> 'limit')
            ON CONFLICT ON CONSTRAINT parts_pkey DO UPDATE SET limits = excluded.limits;
    ELSIF kind = 'close' THEN
        UPDATE privet_budget.accounts AS a SET closed = true WHERE a.name = account;
    ELSIF kind NOT IN ('store', 'accept') THEN
        PERFORM privet_budget.refuse(format('entries of the kind %L are not known', kind));
    END IF;
END
$$;

-- What the history so far adds up to. One that breaks a rule cannot be migrated: `privet budget verify` says what is wrong.
DO $$
DECLARE
    entry record;
BEGIN
    FOR entry IN SELECT * FROM privet_budget.history ORDER BY seq LOOP
        PERFORM privet_budget.apply(entry.kind, entry.account, entry.who, entry.content::jsonb);
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION privet_budget.check_entry() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last record;
    tomorrow text := to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYY-MM-DD"T"HH24:MI:SS"Z"');
BEGIN
    SELECT seq, hash INTO STRICT last FROM privet_budget.head FOR UPDATE;
    IF NEW.seq <> last.seq + 1 OR NEW.before <> last.hash THEN
        RAISE EXCEPTION 'entry % does not follow entry %', NEW.seq, last.seq USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.hash <> encode(sha256(convert_to(concat_ws(E'\n', NEW.seq, NEW.kind, NEW.account, NEW.who, NEW.at, NEW.content,
            NEW.before), 'UTF8')), 'hex') THEN
        RAISE EXCEPTION 'entry % has another hash than its content', NEW.seq USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- Times never decrease, so that a time that is far off would stay for ever.
    IF NEW.at !~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$' OR NEW.at COLLATE "C" > tomorrow COLLATE "C" THEN
        RAISE EXCEPTION 'entry % is from the future (%); set the clock', NEW.seq, NEW.at
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- What other readers of JSON give up on: long numbers, deep nesting, sheer length.
    IF length(NEW.content) > 1000000 OR NEW.content ~ '([0-9]{250}){4}' OR jsonb_path_exists(NEW.content::jsonb, '$.**{30}')
        OR NEW.account ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'entry % cannot be read everywhere', NEW.seq USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    UPDATE privet_budget.head SET seq = NEW.seq, hash = NEW.hash;
    RETURN NEW;
END
$$;

-- After the grants and policies have let an entry through: they say what they refuse in their own words.
CREATE FUNCTION privet_budget.apply_entry() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM privet_budget.apply(NEW.kind, NEW.account, NEW.who, NEW.content::jsonb);
    RETURN NULL;
END
$$;
CREATE TRIGGER entries_keep_the_rules AFTER INSERT ON privet_budget.history
    FOR EACH ROW EXECUTE FUNCTION privet_budget.apply_entry();
REVOKE ALL ON FUNCTION privet_budget.refuse(text), privet_budget.units(text, boolean),
    privet_budget.admits(jsonb, numeric, numeric), privet_budget.apply(text, text, text, jsonb),
    privet_budget.check_sum(text, jsonb, text, text, numeric, numeric),
    privet_budget.check_slot(text, jsonb, jsonb, numeric, numeric),
    privet_budget.check_charge(text, jsonb), privet_budget.apply_entry() FROM PUBLIC;
