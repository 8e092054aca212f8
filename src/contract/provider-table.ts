type Entry = {
  /** What the guides and the commands call it. */
  label: string
  /** What its button says, unless a setting says something else. */
  name: string
} & (
  | { kind: 'openid_connect'; issuer: string }
  /** GitHub, or a service with the same OAuth and REST interfaces. */
  | { kind: 'github'; url: string; apiUrl: string }
)

/**
 * The providers that have defaults. Further OpenID Connect providers are named in PROVIDERS and need no entry. The id is stored
 * with each user who signs in there, so it must never change; the addresses here are defaults that settings can replace.
 */
export const providers = {
  provider_a: {
    kind: 'openid_connect',
    label: 'provider A',
    name: 'Google',
    issuer: 'https://accounts.google.com',
  },
  provider_b: {
    kind: 'github',
    label: 'provider B',
    name: 'GitHub',
    url: 'https://github.com',
    apiUrl: 'https://api.github.com',
  },
} as const satisfies Record<string, Entry>
