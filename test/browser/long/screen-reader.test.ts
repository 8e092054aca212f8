import { afterAll, beforeAll, expect, it, onTestFailed } from 'vitest'
import { control } from '../../support/controls.js'
import { goodPassword, type Latchkey, startLatchkey } from '../../support/latchkey.js'
import { startOrca } from '../../support/orca.js'
import { until } from '../../support/until.js'

let latchkey: Latchkey
let orca: Awaited<ReturnType<typeof startOrca>>

beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { MAIL_SIGN_IN: 'on' } })
  await latchkey.signedUp('ada')
  orca = await startOrca()
})
afterAll(async () => {
  await orca?.stop()
  await latchkey?.stop()
})

const maxAttempts = 5
const longEnoughToSpeak = 20_000

/** What Orca says to it. On a page that has just been loaded, Orca may still be reading, so it is done again until it is heard. */
const hear = async (texts: string[], act: (attempt: number) => Promise<unknown>) => {
  const before = (await orca.spoken()).length
  const since = async () => (await orca.spoken()).slice(before).join(' ')
  const isHeard = async () => {
    const said = await since()
    return texts.every((text) => said.includes(text))
  }
  for (let attempt = 0; attempt < maxAttempts && !(await isHeard()); attempt += 1) {
    await act(attempt)
    await until('Orca says it', isHeard, longEnoughToSpeak).catch(() => undefined)
  }
  const said = await since()
  for (const text of texts) expect(said).toContain(text)
  return said
}
const goTo = (path: string) => orca.page.goto(latchkey.url + path)
const press = (name: string) => orca.page.locator(`::-p-xpath(${control(name)})`).click()
const fill = (name: string, value: string) => orca.page.locator(`[name=${name}]`).fill(value)

it('tells a user who sees nothing what is missing, what was saved, and what a button will do', async () => {
  const { page } = orca
  onTestFailed(async () => {
    const text = await page.$eval('body', ({ textContent }) => textContent).catch(String)
    console.error([page.url(), text, ...(await orca.spoken()).slice(-20)].join('\n'))
  })
  const arrived = await hear(['Username or email entry required'], () => goTo('/login'))
  expect(arrived).not.toContain('invalid entry')

  await goTo('/register')
  const empty = ['Email', 'Choose a password'].map((label) => `${label} is missing.`)
  const refused = await hear(['Username entry required', ...empty], () => press('Create account'))
  // The error of the first field is read with the field, and not a second time.
  expect(refused).not.toContain('Username is missing.')
  expect(refused).toMatch(/Username entry required.*Username is missing/)
  await fill('username', 'grace')
  await fill('email', 'grace@example.com')
  await fill('password', 'password')
  await hear(['Still missing: an uppercase letter, a number, a special character'], () => press('Create account'))

  await hear(['Email entry grace@example.com required'], async () => {
    await goTo('/login')
    await press('Sign in with an email code')
  })

  await goTo('/login')
  await fill('username', 'ada')
  await fill('password', goodPassword)
  await press('Sign in')
  await hear(['This ends every session, including this one.'], async () => {
    await page.keyboard.press('Escape')
    await press('Sign out everywhere')
  })
  await hear(['Devices and activity heading level 2'], async () => {
    await page.keyboard.press('Escape')
    await press('Devices')
  })
  await hear(['Change the language', 'Language combo box'], async () => {
    await page.keyboard.press('Escape')
    await press('Change the language')
    await page.keyboard.press('Tab')
  })
  await page.keyboard.press('Escape')
  await hear(['Your changes are saved.'], async (attempt) => {
    await press('Change name or username')
    await fill('name', `Ada ${attempt}`)
    await page.keyboard.press('Enter')
  })
})
