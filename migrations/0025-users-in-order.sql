-- older programs: can run from 0002

-- Lists of users are in the order of the alphabet. The keys of usernames are not: they have one sign for i, l and 1.
create index if not exists users_in_order on users (lower(username) collate "C");
create index if not exists users_disabled_in_order on users (lower(username) collate "C") where disabled_at is not null;
