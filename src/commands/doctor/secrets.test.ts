import { expect, it } from 'vitest'
import { secretsIn } from '../../config.js'
import { hideSecrets } from './secrets.js'

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
    expect(hide(`a server said ${text} here`)).toBe('a server said [hidden] here')
})

it('leaves hosts, roles and other settings readable', () => {
  const hide = hideSecrets(secretsIn(environment))
  const text = 'role at two.example, mail.example.com:465 and https://app.example.com'
  expect(hide(text)).toBe(text)
})
