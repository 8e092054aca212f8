import * as oidc from 'openid-client'
import { expect, it } from 'vitest'
import { refusalFrom } from './provider.js'

const answered = (error: string) =>
  refusalFrom(Object.assign(Object.create(oidc.ResponseBodyError.prototype), { error }))

it.each([
  ['invalid_grant', 'invalid_grant'],
  ['constructor', 'error_body'],
  ['__proto__', 'error_body'],
  ['a text of its own', 'error_body'],
])('keeps of what a provider wrote only what a standard names: %s', (written, cause) => {
  expect(answered(written)).toEqual({ refused: 'failed', cause })
})
