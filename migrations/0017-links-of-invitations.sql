-- older programs: can run from 0002

-- The mail and the operator have different links, because only the one in the mail proves the address. `mailed_hash` is `token_hash`,
-- unless an older program has replaced the invitation: the one link of that was printed too, and proves nothing.
alter table invitations add column mailed_hash bytea;
alter table invitations add column operator_hash bytea unique;
