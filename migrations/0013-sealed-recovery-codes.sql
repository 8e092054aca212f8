-- older programs: can run from 0002

-- A recovery code has 12 characters now. That is too short for a plain hash, which can be tried out where no limit holds, so the hash
-- is sealed for its row. The codes from before have 24 characters and only `hash`; they work until they are used or replaced.
alter table recovery_codes drop constraint recovery_codes_pkey;
alter table recovery_codes alter column hash drop not null;
alter table recovery_codes add column id uuid not null default gen_random_uuid() primary key;
alter table recovery_codes add column sealed text;
alter table recovery_codes add constraint recovery_code_has_one_form check ((hash is null) <> (sealed is null));
create unique index recovery_codes_by_user on recovery_codes (user_id, hash);
