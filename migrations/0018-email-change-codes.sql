-- older programs: can run from 0002

-- The mail to a new address has a code too, which the session that asked for the change can enter. It is computed from `hash` with a
-- key of ours. A change that an older program has begun has none.
alter table email_changes add column session_id uuid;
alter table email_changes add column code_tries_left integer not null default 0;
