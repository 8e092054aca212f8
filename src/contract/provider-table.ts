type Entry = {
  /** Its name in the guides and in the commands. */
  label: string
  /** The text of its button, unless a setting replaces it. */
  name: string
} & (
  | { kind: 'openid_connect'; issuer: string }
  /** GitHub, or a service with the same OAuth and REST interfaces. */
  | { kind: 'github'; url: string; apiUrl: string }
)

/**
 * The providers that have defaults. Further OpenID Connect providers are named in PROVIDERS and need no entry. The id is stored
 * with each user who signs in there, so it must never change. It says `a` and `b` instead of a company, because settings can replace the
 * URLs and the name here by those of another provider of the same kind.
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
