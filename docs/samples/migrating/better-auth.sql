select u.email, u.name,
  split_part(u.email, '@', 1) || coalesce('-' || nullif(row_number() over (
    partition by lower(split_part(u.email, '@', 1)) order by u."createdAt"), 1), '') as username,
  password.password as password_hash,
  google."accountId" as provider_a_id,
  github."accountId" as provider_b_id,
  to_char(u."createdAt"::timestamptz at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as created_at
from "user" u
left join account password on password."userId" = u.id and password."providerId" = 'credential'
left join account google on google."userId" = u.id and google."providerId" = 'google'
left join account github on github."userId" = u.id and github."providerId" = 'github'
where u."emailVerified";
