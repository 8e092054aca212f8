import { expect, it } from 'vitest'
import { secretsIn } from '../../settings/config.js'
import { hideSecrets, plainWordsIn } from './doctor.js'

const environment = {
  DATABASE_URL: 'postgres://role:pa%24sword@one,two.example/latchkey',
  REDIS_URL: 'redis://:counter-pass@a.example:6379,redis://:counter-word@b.example:6379',
  SMTP_URL: 'smtps://mailer:mail-pass@mail.example.com:465',
  JWT_SECRET: 'first-signing-key, second-signing-key',
  PROVIDER_B_CLIENT_SECRET: 'client-secret-b',
  PUBLIC_URL: 'https://app.example.com',
}

it('hides every secret setting, and the passwords and lists inside them', () => {
  const hide = hideSecrets(secretsIn(environment))
  const texts = ['pa%24sword', 'pa$sword', 'counter-pass', 'counter-word', 'mail-pass', 'client-secret-b']
  for (const text of [...texts, 'first-signing-key', 'second-signing-key', environment.DATABASE_URL])
    for (const isOurs of [true, false])
      expect(hide(`a server said ${text} here`, isOurs)).toBe('a server said [hidden] here')
})

it('leaves hosts, roles and other settings readable', () => {
  const hide = hideSecrets(secretsIn(environment))
  const text = 'role at two.example, mail.example.com:465 and https://app.example.com'
  expect(hide(text, false)).toBe(text)
})

it('hides a plain word only where somebody else speaks: in our own sentences the gap would give it away', () => {
  const settings = secretsIn({
    ...environment,
    SMTP_URL: 'smtp://mailer:secret@mail.example.com',
    JWT_SECRET: 'Ünicorn',
  })
  const hide = hideSecrets(settings)
  expect(hide('one secret of 96 characters; no secrets are stored', true)).toBe(
    'one secret of 96 characters; no secrets are stored',
  )
  expect(hide('535 the password secret is wrong, and so is Ünicorn', false)).toBe(
    '535 the password [hidden] is wrong, and so is [hidden]',
  )
  expect(plainWordsIn(settings)).toEqual(['JWT_SECRET', 'SMTP_URL'])
  expect(plainWordsIn(secretsIn(environment))).toEqual([])
})
