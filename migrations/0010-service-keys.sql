-- older programs: can run from 0002

-- The name of the service key with which another program caused it. The address is that of the program.
alter table events add column actor_key text;
