-- older programs: can run from 0002

-- After the restore of a dump, browsers have sessions that the database does not know. So an entry can be about a user, whose id is in
-- `sid`: access tokens of that user that were issued before this whole second are refused, whatever session they are of.
alter table ended_sessions add column refused_before timestamptz;

-- Every new token of a session asks for the entries of its user, and there are few.
create index ended_users on ended_sessions (sid) where refused_before is not null;
