import bcrypt from 'bcrypt'
import { afterAll, describe, expect, it } from 'vitest'
import { createPasswords } from './passwords.js'
import { createWorkers } from './workers.js'

/** Who asks does not matter here. */
const client = { ip: '192.0.2.1' }
const workers = createWorkers({ queueLimit: 500, deadline: 20_000 })
afterAll(() => workers.close())

const cost = 4
const passwords = createPasswords({ workers, cost, words: ['Latchkey'] })
const ada = { username: 'ada.lovelace', email: 'countess@example.com', name: 'Ada Byron' }

const check = async (password: string, person = ada) => {
  const checked = await passwords.check(password, person, client)
  if ('refused' in checked) throw new Error(checked.refused)
  return checked
}
const hash = async (password: string) => {
  const made = await passwords.hash(password, client)
  if (typeof made !== 'string') throw new Error(made.refused)
  return made
}

describe('the strength of a password', () => {
  it.each([...['Wolpertech2027!', 'W0lpertech#1', 'Grindhausen-2027', 'Wolpertech.Grindhausen1']])(
    'refuses %s where its words belong to the operator, and only there',
    async (password) => {
      const words = ['Latchkey', 'Wolpertech', 'Grindhausen Nord']
      const there = await createPasswords({ workers, cost, words }).check(password, ada, client)
      expect(there).toMatchObject({
        strength: { isStrong: false },
        ids: { feedback: expect.arrayContaining(['personal']) },
      })
      expect((await check(password)).strength.isStrong).toBe(true)
    },
  )

  it('knows all words of the operator, however many a user brings along', async () => {
    const name = Array.from({ length: 40 }, (_, number) => `Name${number}x`).join(' ')
    const words = Array.from({ length: 50 }, (_, number) => `Zquivrel${number}brumt`)
    const checked = await createPasswords({ workers, cost, words }).check('Zquivrel49brumt!', { ...ada, name }, client)
    expect(checked).toMatchObject({ strength: { isStrong: false } })
  })

  it.each([
    'correct horse Battery 9',
    'x7#Kq9!mZ2',
    'Blue$Horse42Tree',
    'Żółta Łódka 7 na rzece',
    'Monkey 83920174659 Violin',
  ])('accepts %s', async (password) => {
    expect(await check(password)).toMatchObject({
      strength: { isStrong: true },
      validation: { valid: true, errors: [] },
    })
  })

  it('accepts 64 emoji once the other rules hold, though they are 256 bytes', async () => {
    const emoji = Array.from({ length: 64 }, (_, n) => String.fromCodePoint(0x1f600 + ((n * 37) % 79))).join('')
    expect(await check(`aB3${emoji}`)).toMatchObject({ strength: { score: 4 }, validation: { valid: true } })
  })

  it.each([
    ...['Password1!', 'P@ssw0rd123', 'Qwerty123!', 'P@$$w0rd2024', 'Welcome2024!', 'Summer2025!', 'Winter2024!!'],
    ...['Admin123!', 'Letmein!1', 'Iloveyou1!', 'Monkey1234!', 'Trustno1!', 'Football#1', 'Changeme123!'],
    ...['Password!Password1', '1Drowssap!', 'Pa$$w0rd1234', 'Hello World 1', 'Dragon12345!'],
  ])('refuses %s, which is common although it keeps every other rule', async (password) => {
    const { strength, validation } = await check(password)
    expect(strength.isStrong).toBe(false)
    expect(validation.errors).toHaveLength(1)
    expect(validation.errors[0]).toBe(`Password is too weak. ${strength.feedback.join(' ')}`)
  })

  it.each([
    ...['1qaz@WSX', '!QAZ2wsx#EDC', '1qaz@WSX3edc', 'Qwertyuiop1!', 'Asdfghjkl1!', 'Zxcvbnm,./1A', 'qwe123QWE!@#'],
    ...['01.02.1990Aa!', '12/25/1999Aa', 'Abcdefghijkl1!', 'Aaaaaaaaaaaa1!', 'Abc123!Abc123!', 'Qwer!234asdf'],
  ])('refuses %s, a walk over the keys, a date or a row', async (password) => {
    expect((await check(password)).strength.isStrong).toBe(false)
  })

  it.each([
    ...['Ada.Lovelace1!', 'AdaLovelace1815!', 'ecalevoL.ada1!', '4d4.L0v3l4c3!', 'Countess1852!', 'c0unt3$$Ab1!'],
    ...[
      'Latchkey2024!',
      'L4tchk3y2024!',
      'yekhctaL1!',
      'Latchkey!Latchkey1',
      'Countess@example.com1',
      'Byron#Ada#1815',
    ],
  ])('refuses %s, made of who they are or of our name', async (password) => {
    const { strength } = await check(password)
    expect(strength.isStrong).toBe(false)
    expect(strength.feedback.at(-1)).toMatch(/easy to guess|commonly used/)
  })

  it('judges for one person what it would not for another', async () => {
    const password = 'Wollstonecraft-Godwin-7'
    expect((await check(password)).strength.isStrong).toBe(true)
    const mary = { username: 'mary', email: 'mary@example.com', name: 'Mary Wollstonecraft Godwin' }
    expect((await check(password, mary)).strength.isStrong).toBe(false)
  })

  it('gives an integer score, and advice in whole sentences whenever it is not strong', async () => {
    for (const password of ['', 'a', 'Password1!', 'kP9$vL2@', '01.02.1990Aa!', '  ', '\u{1f600}']) {
      const { strength } = await check(password)
      expect(Number.isInteger(strength.score)).toBe(true)
      expect(strength.isStrong).toBe(strength.score >= 3)
      expect(strength.feedback.length, password).toBeGreaterThan(0)
      for (const sentence of strength.feedback) expect(sentence).toMatch(/^[A-Z].*\.$/)
    }
  })

  it('refuses what cannot be a password with a sentence of its own and no estimate', async () => {
    expect(await check('aB3$'.padEnd(300, 'x'))).toEqual({
      strength: { score: 0, feedback: [], isStrong: false },
      validation: { valid: false, errors: ['Password must be at most 256 characters'] },
      ids: { errors: ['too_long'], feedback: [] },
    })
  })
})

describe('verifying a password', () => {
  it('knows the right one from any other', async () => {
    const stored = await hash('right')
    expect(await passwords.verify('right', stored, client)).toEqual({ matches: true, needsRehash: false })
    expect(await passwords.verify('wrong', stored, client)).toEqual({ matches: false, needsRehash: false })
    expect(await passwords.verify('right', undefined, client)).toEqual({ matches: false, needsRehash: false })
    expect(await passwords.verify('right', null, client)).toEqual({ matches: false, needsRehash: false })
    expect(await passwords.verify('right', 'not a hash', client)).toEqual({ matches: false, needsRehash: false })
  })

  it.each([71, 72, 73, 128, 200])('does not take p and p+"x" for the same at %i bytes', async (bytes) => {
    const password = 'p'.repeat(bytes)
    const stored = await hash(password)
    const longer = await hash(`${password}x`)
    expect(await passwords.verify(password, stored, client)).toMatchObject({ matches: true })
    expect(await passwords.verify(`${password}x`, longer, client)).toMatchObject({ matches: true })
    expect(await passwords.verify(`${password}x`, stored, client)).toMatchObject({ matches: false })
    expect(await passwords.verify(password, longer, client)).toMatchObject({ matches: false })
  })

  it.each(['right\0', 'right\0more', 'right\ud800', 'x'.repeat(257)])('never takes %j', async (password) => {
    const stored = bcrypt.hashSync(password, cost)
    expect(await passwords.verify(password, stored, client)).toMatchObject({ matches: false })
    expect(await passwords.verify(password, bcrypt.hashSync('right', cost), client)).toMatchObject({ matches: false })
  })

  it.each(['$2a$', '$2b$', '$2y$'])('takes a hash of another system that begins with %s', async (prefix) => {
    const stored = bcrypt.hashSync('brought along', cost).replace('$2b$', prefix)
    expect(await passwords.verify('brought along', stored, client)).toMatchObject({ matches: true })
    expect(await passwords.verify('brought Along', stored, client)).toMatchObject({ matches: false })
  })

  it('asks for a new hash when the cost was raised, and only after the right password', async () => {
    const raised = createPasswords({ workers, cost: 6, words: ['Latchkey'] })
    const stored = await hash('right')
    expect(await raised.verify('right', stored, client)).toEqual({ matches: true, needsRehash: true })
    expect(await raised.verify('wrong', stored, client)).toEqual({ matches: false, needsRehash: false })
  })
})
