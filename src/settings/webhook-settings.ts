import { isThisMachine } from '../lib/networks.js'
import { addressIn, isPublicAddress } from '../platform/outbound/public-addresses.js'
import { InvalidValue, list, type Read } from './setting-values.js'

/** The URL of a receiver. It may have a path and a query, because receivers put tokens there. */
export const webhookAddress: Read<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.hash)
    throw new InvalidValue('must be an address such as https://app.example.com/webhooks')
  return url.href
}

/** The form and the lengths are those of the Standard Webhooks specification. */
const webhookSecret: Read<string> = (value) => {
  const [, encoded = ''] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value) ?? []
  const key = Buffer.from(encoded, 'base64')
  const isExact = key.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '')
  if (!isExact || key.length < 24 || key.length > 64)
    throw new InvalidValue(
      'must be whsec_ and 24 to 64 random bytes in base64: make one with `echo "whsec_$(openssl rand -base64 32)"`',
    )
  return value
}

export const webhookSecrets: Read<string[]> = (value) => {
  const secrets = list(webhookSecret)(value)
  if (secrets.length === 0 || secrets.length > 4) throw new InvalidValue('must hold one secret, and up to four')
  return secrets
}

/** Whether the address itself shows that it is not public. A host name is looked up and checked later, at each connection. */
const isVisiblyPrivate = (url: URL) => {
  const literal = addressIn(url)
  return literal === undefined ? isThisMachine(url.hostname) : !isPublicAddress(literal)
}

const isVisiblyPublic = (url: URL) => isPublicAddress(addressIn(url) ?? '')

/** `absent` has the settings that were not given. An invalid setting is not among them: it is reported already. */
export const webhookFaults = (values: Readonly<Record<string, unknown>>, absent: ReadonlySet<string>): string[] => {
  const names = ['WEBHOOK_URL', 'WEBHOOK_SECRET']
  if (absent.has('WEBHOOK_URL') !== absent.has('WEBHOOK_SECRET')) return [`${names.join(' and ')}: set both or neither`]
  const { webhookUrl, webhookAllowPrivate, nodeEnv } = values
  if (typeof webhookUrl !== 'string') return []
  const url = new URL(webhookUrl)
  const isPlain = nodeEnv === 'production' && url.protocol === 'http:'
  if (webhookAllowPrivate === 'true')
    return isPlain && isVisiblyPublic(url)
      ? ['WEBHOOK_URL: must begin with https:// in production, because its address is public']
      : []
  if (isVisiblyPrivate(url))
    return ['WEBHOOK_URL: is in a private network or on this machine: set WEBHOOK_ALLOW_PRIVATE=true to allow that']
  return isPlain
    ? [
        'WEBHOOK_URL: must begin with https:// in production; for a receiver in a private network set WEBHOOK_ALLOW_PRIVATE=true',
      ]
    : []
}
