import { isThisMachine } from '../../lib/networks.js'
import { type InvalidAddress, invalidAddress } from '../invalid-address.js'

export type SmtpServer = {
  host: string
  port: number
  /** If true, the connection has TLS from the first byte (`smtps://`). If false, it is upgraded with STARTTLS. */
  secure: boolean
  /** If true, no mail is sent without STARTTLS. If this and `secure` are false, mails are encrypted only if the server offers STARTTLS. */
  requireTLS: boolean
  /** If true, the connection is never encrypted. */
  ignoreTLS: boolean
  tls: { rejectUnauthorized: boolean }
  auth?: { user: string; pass: string }
}

const booleans = ['true', 'false']
const settings: Readonly<Record<string, readonly string[]>> = {
  tls: ['off'],
  requireTLS: booleans,
  ignoreTLS: booleans,
  'tls.rejectUnauthorized': booleans,
}

const settingFault = (parameters: URLSearchParams) => {
  for (const [name, value] of parameters) {
    const allowedValues = settings[name]
    if (!allowedValues) return `may have only these settings: ${Object.keys(settings).join(', ')}`
    if (!allowedValues.includes(value)) return `${name} can only be ${allowedValues.join(' or ')}`
  }
  return undefined
}

const decode = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const parseUrl = (text: string) => {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/**
 * `smtp://user:password@host:587` or `smtps://…:465`. Mails have links that open accounts, so another machine must offer
 * STARTTLS with a valid certificate, unless `?tls=off` says that the connection is not encrypted.
 */
export const readSmtpAddress = (text: string): SmtpServer | InvalidAddress => {
  const url = parseUrl(text)
  if (!url || !['smtp:', 'smtps:'].includes(url.protocol) || !url.hostname)
    return invalidAddress('must be an address like smtp://user:password@mail.example.com:587 or smtps://…')
  const fault = settingFault(url.searchParams)
  if (fault !== undefined) return invalidAddress(fault)
  const user = decode(url.username)
  const pass = decode(url.password)
  if (user === undefined || pass === undefined) return invalidAddress('has credentials that are not percent-encoded')

  const secure = url.protocol === 'smtps:'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const requireTlsOption = url.searchParams.get('requireTLS')
  const ignoreTLS = url.searchParams.has('tls') || url.searchParams.get('ignoreTLS') === 'true'
  if (ignoreTLS && (secure || requireTlsOption === 'true')) return invalidAddress('asks for TLS and switches it off')
  const requireTLS = requireTlsOption ? requireTlsOption === 'true' : !ignoreTLS && !isThisMachine(host)
  return {
    host,
    port: url.port ? Number(url.port) : secure ? 465 : 587,
    secure,
    requireTLS: requireTLS && !secure,
    ignoreTLS,
    tls: { rejectUnauthorized: url.searchParams.get('tls.rejectUnauthorized') !== 'false' },
    ...(user && { auth: { user, pass } }),
  }
}
