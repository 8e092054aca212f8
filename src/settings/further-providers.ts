import type { ProviderId } from '../contract/providers.js'
import { InvalidValue, list, logoAddress, oneOf, type Read, type Setting, text, webAddress } from './setting-values.js'

const maxProviders = 20

/** The name is part of settings, addresses, columns and stored ids. Names of one letter are left to the built-in providers A and B. */
const namePattern = /^[a-z][a-z0-9]{1,29}$/

const providerName: Read<string> = (value) => {
  if (!namePattern.test(value))
    throw new InvalidValue('must be names of 2 to 30 small letters and digits, such as microsoft, separated by commas')
  return value
}

const providerNames: Read<string[]> = (value) => {
  const names = list(providerName)(value)
  if (new Set(names).size < names.length) throw new InvalidValue('must not have a name twice')
  if (names.length > maxProviders) throw new InvalidValue(`must have at most ${maxProviders} names`)
  return names
}

export const furtherProvidersSetting: Setting = {
  read: providerNames,
  fallback: '',
  meaning:
    'Names of further OpenID Connect providers, such as `microsoft,okta`. Each has settings of its own: see “Further providers” in docs/configuration.md. A name is stored with each user who signs in there: do not change it.',
}

/** The ids of the providers that PROVIDERS names. Names that are not allowed are left out. */
export const furtherProviders = (names: unknown): ProviderId[] =>
  (Array.isArray(names) ? names : [])
    .filter((name) => namePattern.test(name))
    .map((name): ProviderId => `provider_${name}`)

/** The text of the button if `PROVIDER_<NAME>_NAME` is not set: the name with a capital. */
export const nameForButton = (id: ProviderId) => id.replace(/^provider_(.)/, (_, first: string) => first.toUpperCase())

export const logoSetting: Setting = {
  read: logoAddress,
  otherwise: 'the first letter of the name',
  meaning:
    'Logo on its button, square: an address like `PRODUCT_LOGO_URL`. The provider says in its brand rules which file to use; none comes with the service.',
}

/** The settings of each provider that PROVIDERS names. The key is the last part of `PROVIDER_<NAME>_<FIELD>`. */
export const furtherFields: Readonly<Record<string, Setting>> = {
  ISSUER: {
    read: webAddress,
    meaning: 'OpenID Connect issuer. Its endpoints are found by discovery. Production needs `https`. Required.',
  },
  CLIENT_ID: { read: text, meaning: 'Client id at the provider. Required.' },
  CLIENT_SECRET: { read: text, secret: true, meaning: 'Client secret at the provider. Required.' },
  REDIRECT_URI: {
    read: webAddress,
    otherwise: '`PUBLIC_URL/api/auth/provider-<name>/callback`',
    meaning: 'Callback address registered at the provider.',
  },
  NAME: { read: text, otherwise: 'the name with a capital', meaning: 'Name of the provider on its button.' },
  LOGO_URL: logoSetting,
  TRUST_EMAIL: {
    read: oneOf('true', 'false'),
    fallback: 'false',
    meaning:
      '`true`: an email counts as verified if the provider does not say whether it is. Only for an issuer at which you assign the emails yourself: a person who can choose an email there can sign in as the user who has it here.',
  },
}
