.users[] | select(.email and .emailVerified)
  | ([.credentials[]? | select(.type == "password")] | first) as $password
  | ($password.credentialData // "{}" | fromjson) as $how
  | ($password.secretData // "{}" | fromjson) as $secret
  | {id, email, disabled: (.enabled | not),
     username: (if .username | contains("@") then null else .username end),
     name: ([.firstName, .lastName] | map(select(.)) | join(" ")),
     password_hash: (if $how.algorithm == "argon2" and $how.additionalParameters.type[0] == "id"
       then "$argon2id$v=19$m=\($how.additionalParameters.memory[0]),t=\($how.hashIterations),p=\($how.additionalParameters.parallelism[0])$\($secret.salt)$\($secret.value)"
       else $how.algorithm end),
     provider_a_id: ([.federatedIdentities[]? | select(.identityProvider == "google").userId] | first),
     provider_b_id: ([.federatedIdentities[]? | select(.identityProvider == "github").userId] | first),
     created_at: (.createdTimestamp | if . then . / 1000 | floor | todate else null end)}
