-- older programs: can run from 0002

-- Administrators list disabled users: few among very many.
create index users_disabled on users (username_key collate "C") where disabled_at is not null;
