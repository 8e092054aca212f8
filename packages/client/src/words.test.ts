import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { languages } from '#contract/languages.js'
import { refusalCodes } from '#contract/refusals.js'
import type { ClientRefusalCode, Refusal } from './answers.js'
import { de, en, fr, refusalSentence, refusalWords } from './words.js'

const refusal = (status: number, refused: string, more: Partial<Refusal> = {}) => ({
  status,
  refused: refused as ClientRefusalCode,
  ...more,
})

describe('the sentence of a refusal', () => {
  it.each(languages)('is there for every code, and has no placeholder left: %s', (language) => {
    const words = refusalWords[language]
    expect(words.language).toBe(language)
    for (const code of refusalCodes) {
      const freeFrom = '2026-11-20T12:00:00.000Z'
      const sentence = refusalSentence(refusal(400, code, { freeFrom }), words, { provider: 'GitHub' })
      expect(sentence, code).toMatch(/\S+ \S/)
      expect(sentence, code).not.toMatch(/[{}]/)
    }
  })

  it('says how long to wait after a limit, from when a username is free, and the name of a provider', () => {
    expect(refusalSentence(refusal(429, 'too_many_logins', { retryAfter: 557 }), de)).toBe(
      'Zu viele Anmeldeversuche. Bitte versuchen Sie es in 9\u00a0min 17\u00a0s noch einmal.',
    )
    expect(refusalSentence(refusal(429, 'too_many_requests'), en)).toBe('Too many requests. Please wait a moment.')
    const taken = refusal(409, 'too_many_usernames', { freeFrom: '2026-11-20T12:00:00.000Z' })
    expect(refusalSentence(taken, fr)).toContain('20 nov. 2026')
    expect(refusalSentence(refusal(409, 'already_linked'), en, { provider: 'GitHub' })).toContain('GitHub account')
  })

  it('is a general one for what is no answer of the service, and has a reference after a failure', () => {
    expect(refusalSentence(refusal(0, 'no_answer'), en)).toBe(en.failures.offline)
    expect(refusalSentence(refusal(502, 'unknown'), en)).toBe(en.failures.unavailable)
    expect(refusalSentence(refusal(400, 'toString'), en)).toBe(en.failures.unexpected)
    const failed = refusal(500, 'internal', { requestId: '5f0c3a52-7d1e-4b8a-9c36-e2f40d715a98' })
    expect(refusalSentence(failed, de)).toBe(`${de.refusals.internal} (Kennung: 5f0c3a52)`)
  })
})

it('a page with one language loads the words of one language', async () => {
  const { outputFiles } = await build({
    stdin: {
      contents: "import { de, refusalSentence } from './words.ts'\nconsole.log(refusalSentence(answer, de))",
      resolveDir: fileURLToPath(new URL('.', import.meta.url)),
    },
    ...{ bundle: true, format: 'esm', write: false, charset: 'utf8' },
  })
  const text = outputFiles[0]?.text ?? ''
  expect(text).toContain(de.refusals.busy)
  for (const { refusals } of [en, fr]) expect(text).not.toContain(refusals.busy)
})
