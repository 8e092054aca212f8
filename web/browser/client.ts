import { type Answer, createClient } from '#client/client.js'
import { fetchInLanguage } from '#client/fetch-in-language.js'
import { readSettings } from './settings.js'

/** The client of every page. Its requests name the language of the page, so that mails are in that language, too. */
export const client = createClient({ fetch: (...request) => fetchInLanguage(readSettings().language)(...request) })

/** Sends a request that only our own pages make, so that the client package has no call for it. With a body it is a POST. */
export const askService = async <Value>(path: string, body?: object): Promise<Answer<Value>> => {
  const init = body && {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }
  try {
    const response = await client.fetch(`/api/auth/${path}`, init)
    const { status } = response
    const answerBody = status === 204 ? undefined : await response.json()
    return response.ok ? { value: answerBody } : { ...answerBody, refused: answerBody.code ?? 'unknown', status }
  } catch {
    return { refused: 'no_answer', status: 0 }
  }
}
