select u.email, u.name,
  split_part(u.email, '@', 1) || coalesce('-' || nullif(row_number() over (
    partition by lower(split_part(u.email, '@', 1)) order by u.id), 1), '') as username,
  google."providerAccountId" as provider_a_id,
  github."providerAccountId" as provider_b_id
from users u
left join accounts google on google."userId" = u.id and google.provider = 'google'
left join accounts github on github."userId" = u.id and github.provider = 'github'
where u.email is not null
  and (u."emailVerified" is not null or google."userId" is not null or github."userId" is not null);
