import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addAuthenticator } from '../../support/authenticator.js'
import { openChromium, visit } from '../../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../../support/latchkey.js'
import { addApplication, useApplication } from '../../support/used-applications.js'

let latchkey: Latchkey
let browser: Browser
beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey(), openChromium()])
})
afterAll(() => latchkey?.stop())

/** A person with a phone, a laptop that is lost, an authenticator app, an application and an address that they mistyped. */
const maria = async () => {
  const tab = await latchkey.signedUp('maria')
  await useApplication(latchkey.sql, tab, await addApplication(latchkey.sql, { name: 'Wiki' }))
  const app = await addAuthenticator(tab, latchkey)
  const laptop = latchkey.browser()
  const from = {
    headers: { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0' },
  }
  await laptop.post('/api/auth/login', { username: 'maria', password: goodPassword }, from)
  await laptop.post('/api/auth/second-factor', { code: app.code() }, from)
  await tab.act('/api/auth/email', { email: 'mario@example.com' })
  const visitor = await visit(browser, latchkey, { viewport: { width: 390, height: 844 }, hasTouch: true })
  const attributes = { url: latchkey.url, httpOnly: true, sameSite: 'Strict' as const }
  await visitor.context.addCookies([...tab.jar].map(([name, value]) => ({ name, value, ...attributes })))
  const tools = await visitor.context.newCDPSession(visitor.page)
  await tools.send('WebAuthn.enable')
  await tools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
      ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
    },
  })
  return visitor
}

type Task = {
  task: string
  /** The words on what is pressed, one after another. */
  presses: string[]
  /** Words in the line of the list that is meant. */
  row?: string
  /** What is typed or chosen before the last press. */
  fill?: (page: Page) => Promise<unknown>
  sees: string | RegExp
  found: string
  /** What leads back to the page as it was. */
  after?: string
}

const tasks: Task[] = [
  {
    task: 'sign out the laptop you lost',
    presses: ['Devices', 'Sign out'],
    row: 'Firefox on Windows',
    sees: 'That device is signed out.',
    found: 'Devices and activity > Where you are signed in',
  },
  {
    task: 'make your account safer',
    presses: ['Add a passkey.', 'Add a passkey'],
    sees: /^The passkey was added/,
    found: 'Signing in > Passkeys',
  },
  {
    task: 'take the new address back',
    presses: ['Profile', 'Cancel the change'],
    sees: 'The change was cancelled. Your email address stays as it is.',
    found: 'Profile > Email',
  },
  {
    task: 'see who signed in',
    presses: ['Devices', 'Show all activity'],
    sees: 'Signed in',
    found: 'Devices and activity > Recent activity',
  },
  {
    task: 'remove a passkey',
    presses: ['Signing in', 'Remove', 'Yes, remove'],
    sees: 'The passkey was removed. Other devices are signed out.',
    found: 'Signing in > Passkeys',
  },
  {
    task: 'get new recovery codes',
    presses: ['Signing in', 'New recovery codes', 'Yes, make new codes'],
    sees: /^These are your new recovery codes\./,
    found: 'Signing in > Two-step sign-in',
    after: 'I have saved them',
  },
  {
    task: 'leave an application',
    presses: ['Devices', 'End access'],
    row: 'Wiki',
    sees: 'Wiki has no access any more.',
    found: 'Devices and activity > Applications with access',
  },
  {
    task: 'download what is stored',
    presses: ['Your data', 'Download your data'],
    sees: 'Your data was saved as a file.',
    found: 'Your data > Copy of your data',
  },
  {
    task: 'change the language',
    presses: ['Profile', 'Change the language', 'Save'],
    fill: (page) => page.getByRole('combobox').selectOption('Deutsch'),
    sees: 'Deutsch',
    found: 'Profile > Language of emails',
  },
  {
    task: 'delete the account',
    presses: ['Your data', 'Delete account', 'Delete my account for good'],
    fill: (page) => page.getByRole('textbox').fill('maria'),
    sees: 'Your account was deleted.',
    found: 'Your data > Delete your account',
  },
]

/** The headings above it, as a person sees them. */
const placeOf = (pressed: ReturnType<Page['locator']>) =>
  pressed.evaluate((element) => {
    const panel = element.closest('.panel')
    return [panel?.closest('section:not(.panel)')?.querySelector('h2'), panel?.querySelector('h3')]
      .map((heading) => heading?.textContent)
      .join(' > ')
  })

const follow = async (page: Page, { presses, row, fill, sees }: Task) => {
  let place = ''
  for (const [at, words] of presses.entries()) {
    const isLast = at === presses.length - 1
    if (isLast) await fill?.(page)
    const around =
      isLast && row !== undefined ? page.getByRole('listitem').filter({ hasText: row }) : page.locator('main')
    const pressed = around
      .locator('a, button')
      .filter({ hasText: new RegExp(`^${words.replaceAll('.', '\\.')}$`) })
      .first()
    await pressed.waitFor()
    place = await placeOf(pressed)
    await pressed.tap()
  }
  await page.getByText(sees, { exact: true }).first().waitFor()
  return place
}

it('finds everything of ten tasks on a phone, by the words on the page, with at most three presses', async () => {
  const { page, context, faults } = await maria()
  const found: Record<string, string> = {}
  await page.goto('/dashboard')
  for (const each of tasks) {
    expect(each.presses.length, each.task).toBeLessThanOrEqual(3)
    found[each.task] = await follow(page, each)
    if (each.after) await page.getByRole('button', { name: each.after }).tap()
  }
  console.info(tasks.map(({ task, presses }) => `${task}: ${found[task]} (${presses.join(', ')})`).join('\n'))
  expect(found).toEqual(Object.fromEntries(tasks.map((each) => [each.task, each.found])))
  expect(faults).toEqual([])
  await context.close()
})
