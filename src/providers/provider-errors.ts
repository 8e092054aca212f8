import * as oidc from 'openid-client'
import { OutboundFailed } from '../platform/outbound/outbound.js'
import { type ProviderRefusal, providerRefusal } from './provider.js'

/**
 * Turns a failure at a provider into a refusal. Library errors contain whole responses as their cause, so only their codes are kept. Of the
 * provider's own text, only the error codes of the standards are kept.
 */
export const refusalFrom = (error: unknown): ProviderRefusal => {
  if (error instanceof oidc.AuthorizationResponseError)
    return error.error === 'access_denied'
      ? providerRefusal('cancelled', 'access_denied')
      : providerRefusal('failed', 'denied')
  if (error instanceof oidc.ResponseBodyError)
    return providerRefusal('failed', standardErrors.has(error.error) ? error.error : 'error_body')
  const outboundFailure = outboundFailureIn(error)
  if (outboundFailure) return providerRefusal('failed', outboundFailure.code)
  return providerRefusal('failed', libraryCode(error) ?? 'unexpected_answer')
}

const standardErrors = new Set(['invalid_client', 'invalid_grant', 'invalid_request', 'unauthorized_client'])

const outboundFailureIn = (error: unknown): OutboundFailed | undefined => {
  for (let current = error, depth = 0; depth < 4; depth += 1) {
    if (current instanceof OutboundFailed) return current
    if (!(current instanceof Error)) return undefined
    current = current.cause
  }
  return undefined
}

const libraryCode = (error: unknown) => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^OAUTH_[A-Z_]+$/.test(code)
    ? code.slice('OAUTH_'.length).toLowerCase()
    : undefined
}
