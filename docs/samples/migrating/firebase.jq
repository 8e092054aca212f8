[.users[] | select(.email and .emailVerified)]
  | group_by(.email | split("@")[0] | ascii_downcase)[] | to_entries[] | .key as $place | .value
  | {email, name: .displayName, disabled: (.disabled // false),
     username: ((.email | split("@")[0]) + if $place == 0 then "" else "-\($place + 1)" end),
     password_hash: .passwordHash, salt,
     provider_a_id: ([.providerUserInfo[]? | select(.providerId == "google.com").rawId] | first),
     provider_b_id: ([.providerUserInfo[]? | select(.providerId == "github.com").rawId] | first),
     created_at: (.createdAt | if . then tonumber / 1000 | floor | todate else null end)}
