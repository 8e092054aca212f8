import { expect, it } from 'vitest'
import { callbackFailed, loginNotices, pageNames, providerOfFailure, signInFailed } from './pages.js'
import { builtInProviderIds as providerIds } from './providers.js'

const providers = providerIds.map((id) => ({ id }))

it.each(providerIds)('reads from the address that the sign-in with %s has failed', (id) => {
  expect(providerOfFailure(signInFailed(id), providers)).toEqual({ id })
})

it('knows no provider in any other error', () => {
  for (const error of [callbackFailed, '', 'provider_a', 'provider_z_auth_failed'])
    expect(providerOfFailure(error, providers)).toBeUndefined()
})

it.each([...pageNames, ...loginNotices])('%s can stand in an address as it is', (word) => {
  expect(encodeURIComponent(word)).toBe(word)
})
