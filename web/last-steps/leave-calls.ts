import type { Answer } from '#client/client.js'
import type { AccountExport } from '#contract/account-export.js'
import { client } from '../browser/client.js'

/** These two are for our own page only, so they are no calls of the package. */
const ask = async <Value>(path: string, init?: RequestInit): Promise<Answer<Value>> => {
  try {
    const response = await client.fetch(`/api/auth/second-factor/${path}`, init)
    const { status } = response
    const body = status === 204 ? undefined : await response.json()
    return response.ok ? { value: body } : { ...body, refused: body.code ?? 'unknown', status }
  } catch {
    return { refused: 'no_answer', status: 0 }
  }
}

/** What users can do who have given every proof and do not want to go on. */
export const exportBeforeSession = () => ask<AccountExport>('export')
export const deleteBeforeSession = (sure: { username: string }) =>
  ask<undefined>('delete', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(sure),
  })
