import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest'
import { signedUpInGroup } from '../../support/administrators.js'
import { addAuthenticator } from '../../support/authenticator.js'
import { browserNames } from '../../support/browsers.js'
import { control } from '../../support/controls.js'
import { goodPassword, type Latchkey, startLatchkey } from '../../support/latchkey.js'
import { startOrca } from '../../support/orca.js'
import { until } from '../../support/until.js'

let latchkey: Latchkey
let orca: Awaited<ReturnType<typeof startOrca>>

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
const type = async (text: string) => {
  for (const character of text) await orca.page.keyboard.press(character)
}

const explainFailure = () =>
  onTestFailed(async () => {
    const text = await orca.page.$eval('body', ({ textContent }) => textContent).catch(String)
    console.error([orca.page.url(), text, ...(await orca.spoken()).slice(-20)].join('\n'))
  })

// One after the other: a user can run one Orca.
describe.each(browserNames)('in %s', (browser) => {
  beforeAll(async () => {
    latchkey = await startLatchkey({ settings: { MAIL_SIGN_IN: 'on', ADMIN_GROUP: 'admins' } })
    orca = await startOrca(browser)
  })
  afterAll(async () => {
    await orca?.stop()
    await latchkey?.stop()
  })

  it('tells a user who sees nothing what is missing, what was saved, and what a button will do', async () => {
    explainFailure()
    await latchkey.signedUp('ada')
    const { page } = orca
    const arrived = await hear(['Username or email entry required'], () => goTo('/login'))
    expect(arrived).not.toContain('invalid entry')

    await goTo('/register')
    const empty = ['Username', 'Choose a password'].map((label) => `${label} is missing.`)
    // The error of the first field is read with the field.
    const refused = await hear(['Email entry required', ...empty], () => press('Create account'))
    expect(refused).toMatch(/Email entry required.*Email is missing/)
    await fill('username', 'grace')
    await fill('email', 'grace@example.com')
    // Not with each letter which rules are met: that is heard after a pause, and when the password is refused.
    const typed = await hear(['Strength: Very weak'], () => fill('password', 'password'))
    expect(typed).not.toContain('still missing')
    await hear(['Still missing: an uppercase letter, a number, a special character'], () => press('Create account'))

    await hear(['Email entry grace@example.com required'], async () => {
      await goTo('/login')
      await press('Sign in with an email code')
    })

    await goTo('/login')
    await fill('username', 'ada')
    await hear(['Username, email or password is incorrect. Registered just now?'], async (attempt) => {
      await fill('password', `not the password ${attempt}`)
      await press('Sign in')
    })
    await fill('password', goodPassword)
    await press('Sign in')
    await hear(['This ends every session, including this one.'], async () => {
      await page.keyboard.press('Escape')
      await press('Sign out everywhere')
    })
    // Firefox adds that it is a heading.
    await hear(['Devices and activity'], async () => {
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

  it('says what a second step asks for, why a code is refused, and that the password was changed', async () => {
    explainFailure()
    const { recoveryCodes } = await addAuthenticator(await latchkey.signedUp('ben'), latchkey)
    await orca.page.deleteCookie(...(await orca.page.cookies()))
    const signIn = async () => {
      await goTo('/login')
      await fill('username', 'ben')
      await fill('password', goodPassword)
      await press('Sign in')
    }
    // The digits are not sent by themselves where a box follows, so nobody waits for it.
    const asked = await hear(['Code from the app entry required', '6 digits.'], signIn)
    expect(asked).not.toContain('They are sent')
    await hear(['This code does not work. Check the six digits'], async () => {
      await fill('code', '000000')
      await press('Continue')
    })
    await hear(['Enter one of the recovery codes that you saved.'], async (attempt) => {
      if (attempt > 0) await press('Use the authenticator app')
      await press('Use a recovery code')
    })
    await hear(['This recovery code does not work.'], async () => {
      await fill('code', 'none-of-them')
      await press('Continue')
    })
    await fill('code', recoveryCodes[0] ?? '')
    await hear(['You have used a recovery code: 9 recovery codes left.'], async (attempt) =>
      attempt === 0 ? press('Continue') : goTo('/dashboard'),
    )
    const newPassword = 'Quiet+Orchard+48+marble'
    await hear(['This is not your current password.'], async (attempt) => {
      if (attempt === 0) await press('Change password')
      await fill('currentPassword', 'not this one')
      await fill('newPassword', newPassword)
      await orca.page.keyboard.press('Enter')
    })
    await fill('currentPassword', goodPassword)
    await hear(['Your password was changed.'], () => orca.page.keyboard.press('Enter'))
  })

  if (browser === 'chromium')
    it('tells an administrator how a list is sorted, what a filter and the search find, and who was opened', async () => {
      explainFailure()
      const { tab } = await signedUpInGroup(latchkey, 'grace', 'admins')
      await latchkey.signedUp('kim')
      const { page } = orca
      await goTo('/health/live')
      await page.deleteCookie(...(await page.cookies()))
      const cookies = [...tab.jar].map(([name, value]) => ({ name, value, domain: 'localhost', path: '/' }))
      await page.setCookie(...cookies)
      await hear(['Users: '], () => goTo('/api/auth/admin#users'))
      await hear(['sorted ascending'], async (attempt) => {
        if (attempt > 0) await press('User')
        await press('Created')
      })
      const search = page.locator('input[type=search]')
      await hear(['Nothing is found.'], async (attempt) => {
        if (attempt > 0) await press('Show everything')
        await search.fill('nobody')
      })
      await hear(['Users: 1'], async (attempt) => {
        if (attempt > 0) await search.fill('')
        await search.fill('kim')
      })
      await hear(['User heading level 1', 'kim'], async () => {
        await page.keyboard.press('Escape')
        await press('kim')
      })
      await hear(['Search everywhere'], async () => {
        await page.keyboard.press('Escape')
        await press('Search everywhere')
      })
      // Nothing is said to be found or not before the service has answered.
      const found = await hear(['Found: 1.'], () => type('kim'))
      expect(found).not.toContain('Nothing is found')
    })
})
