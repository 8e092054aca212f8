select u.id, u.email, u.raw_user_meta_data->>'full_name' as name,
  split_part(u.email, '@', 1) || coalesce('-' || nullif(row_number() over (
    partition by lower(split_part(u.email, '@', 1)) order by u.created_at), 1), '') as username,
  u.encrypted_password as password_hash,
  google.provider_id as provider_a_id,
  github.provider_id as provider_b_id,
  to_char(u.created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as created_at
from auth.users u
left join auth.identities google on google.user_id = u.id and google.provider = 'google'
left join auth.identities github on github.user_id = u.id and github.provider = 'github'
where u.email_confirmed_at is not null;
