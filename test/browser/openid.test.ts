import type { Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { operatorClient } from '../../src/http/request-origin.js'
import { addApplication, applicationChangesOf } from '../support/applications.js'
import { createAuthenticator } from '../support/authenticator.js'
import { parametersFor } from '../support/authorization-requests.js'
import { postForm } from '../support/authorizations.js'
import { fillIn, focusedName, keepPicture, press, signIn, visit, visitAs } from '../support/chromium.js'
import { goodPassword } from '../support/latchkey.js'
import { isLongRun } from '../support/long-run.js'
import {
  arrival,
  arrivalWithCode,
  saysWhere,
  siteOf,
  smallTargetsOn,
  startWithApplications,
  violationsOn,
  visitApplications,
  withApplications,
} from './visits-for-applications.js'

let service: Awaited<ReturnType<typeof startWithApplications>>
beforeAll(async () => {
  service = await startWithApplications()
})
afterAll(() => service?.latchkey.stop())

/** A page of an application, with a link to the sign-in. At Grafana's callback the tab stays where it is. */
const showLink = (route: Route) => {
  const { hostname, pathname, searchParams } = new URL(route.request().url())
  if (hostname.startsWith('grafana.') && pathname === '/callback') return route.fulfill({ status: 204 })
  const link = searchParams.get('link') ?? ''
  return route.fulfill({ contentType: 'text/html', body: `<a href="${link.replaceAll('&', '&amp;')}">Sign in</a>` })
}
/** From another site: the strict cookies come with the second request. */
const leaveFor = async (page: Page, name: 'grafana' | 'wiki', changed: Record<string, string> = {}) => {
  await page.goto(`${siteOf(name)}/?link=${encodeURIComponent(service.addressFor(name, changed))}`)
  await page.getByRole('link', { name: 'Sign in' }).click()
}
const isTooWide = (page: Page) => page.evaluate(() => document.body.scrollWidth > innerWidth)

it('signs in for one application, and for the next without a question', async () => {
  const { browser, latchkey } = service
  const { page, context, faults, leave } = await visit(browser, latchkey)
  await context.route(/^https:\/\/\w+\.example\.com\//, showLink)
  await leaveFor(page, 'grafana', { login_hint: 'ada' })
  await page.getByText('Sign in to continue to grafana.').waitFor()
  expect(await page.getByLabel('Username or email').inputValue()).toBe('ada')
  await keepPicture(page, 'openid-sign-in')
  expect(await smallTargetsOn(page)).toEqual([])
  await Promise.all([page.waitForRequest(`${siteOf('grafana')}/callback?code=**`), signIn(page, 'ada')])
  await leaveFor(page, 'wiki')
  await page.waitForURL(`${siteOf('wiki')}/callback?**`)
  // Nothing of ours is left in the history.
  await page.goBack()
  expect(page.url()).toContain(`${siteOf('wiki')}/?link=`)
  expect(faults).toEqual([])
  await leave()
})

it('asks for consent, for a proof, and says that there is no access, in two tabs', async () => {
  const { addressFor, browser, latchkey } = service
  const { page, context, faults, leave } = await visitApplications(browser, latchkey)
  // A name in a link is not believed.
  await page.goto(
    `/login?notice=sign_in&returnTo=${encodeURIComponent('/api/auth/authorize?request=made.up&name=Bank')}`,
  )
  await page.getByText('Sign in to continue.').waitFor()
  const [shop] = await latchkey.sql.query<{ id: string }>("select id from applications where name = 'shop'")
  const picture = await page.locator('header').screenshot({ type: 'png' })
  await applicationChangesOf(latchkey).change(shop?.id ?? '', {}, operatorClient('root'), { icon: picture })
  await page.goto(addressFor('shop'))
  await signIn(page, 'ada')
  await page.getByRole('heading', { name: 'Continue to shop?' }).waitFor()
  await page.getByText('Comes from').waitFor()
  await page.locator('img.application-icon').waitFor()
  await page.getByText('This access ends when you sign out here').waitFor()
  await keepPicture(page, 'openid-consent')
  expect(await violationsOn(page)).toEqual([])
  const other = await context.newPage()
  await other.goto(addressFor('vault'))
  await other.getByRole('heading', { name: 'No access' }).waitFor()
  await keepPicture(other, 'openid-no-access')
  expect(await smallTargetsOn(other)).toEqual([])
  await press(other, 'Back to vault')
  expect(await arrival(other, 'vault')).toContain('error=access_denied')
  // An answer that does not arrive, and a page that does not load: both name what failed.
  const asking = '**/api/auth/authorization**'
  await page.route(asking, (route) => route.abort())
  await press(page, 'Continue')
  await expect.poll(() => focusedName(page)).toBe('Your answer did not arrive')
  await keepPicture(page, 'openid-answer-failed')
  await page.reload()
  await page.getByRole('heading', { name: 'This page could not be loaded' }).waitFor()
  await saysWhere(page, 'shop')
  await page.unroute(asking)
  await press(page, 'Try again')
  await press(page, 'Continue')
  await arrivalWithCode(page, 'shop')
  await page.goto(addressFor('grafana', { prompt: 'login' }))
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
  expect(await page.getByRole('link', { name: 'Forgot password?' }).getAttribute('href')).toContain('?returnTo=%2Fapi')
  await keepPicture(page, 'openid-prove')
  expect(await smallTargetsOn(page)).toEqual([])
  const waiting = page.url()
  await fillIn(page, { Password: goodPassword })
  await press(page, 'Confirm')
  await arrivalWithCode(page, 'grafana')
  await page.goto(waiting)
  await page.getByRole('link', { name: 'Start again at grafana' }).waitFor()
  expect(await smallTargetsOn(page)).toEqual([])
  await page.goto(addressFor('grafana', { redirect_uri: 'https://evil.example.com/' }))
  await page.getByText('not registered').waitFor()
  await keepPicture(page, 'openid-wrong-redirect')
  expect(await page.getByRole('link', { name: 'Go to your account' }).getAttribute('href')).toBe(
    '/api/auth/account-page',
  )
  expect(await smallTargetsOn(page)).toEqual([])
  if (isLongRun) {
    await page.goto(`/api/auth/authorize?${parametersFor('nobody')}`)
    await page.getByText('The application that sent you here is not known to this site.').waitFor()
    expect(await page.getByRole('heading').innerText()).toBe('Sign-in is not possible')
    expect(await page.locator('.card').innerText()).not.toContain('address')
  }
  expect(faults).toEqual([])
  await leave()
})

it('leads to the account page for a second factor, and goes on with it', async () => {
  const { addressFor, browser, latchkey } = service
  await latchkey.signedUp('lone')
  const { page, faults, leave } = await withApplications(await visitAs(browser, latchkey, 'lone'))
  await page.goto(addressFor('safe'))
  await page.getByRole('heading', { name: 'A second factor is needed' }).waitFor()
  await keepPicture(page, 'openid-enrol')
  expect(await smallTargetsOn(page)).toEqual([])
  await page.getByRole('link', { name: 'Add a second factor' }).click()
  const panel = page.locator('#two-step')
  await panel.getByText('safe asks for a second factor.').waitFor()
  await expect.poll(() => panel.evaluate((section) => section.getBoundingClientRect().top < innerHeight)).toBe(true)
  await keepPicture(page, 'openid-enrol-account')
  await press(page, 'Switch on')
  await saysWhere(page, 'safe')
  const app = createAuthenticator(
    await page
      .locator('.secret')
      .innerText()
      .then((text) => text.replaceAll(' ', '')),
    latchkey,
  )
  await fillIn(page, { 'Code from the app': app.code() })
  await press(page, 'Confirm')
  // One sentence is read out at once, and not ten codes.
  await expect.poll(() => page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').count()).toBe(10)
  expect(await page.getByRole('status').getByRole('listitem').count()).toBe(0)
  await saysWhere(page, 'safe')
  const there = page.url()
  await press(page, 'I have saved them')
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
  if (isLongRun) {
    // The account page does not ask for what it has.
    await page.goto(there)
    await panel.getByText('Your account has the second factor that safe asks for.').waitFor()
    await keepPicture(page, 'openid-enrolled-account')
    await page.getByRole('link', { name: 'Back to safe' }).click()
    await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
  }
  // The code that confirmed the app is used up.
  await latchkey.advance(30_000)
  await fillIn(page, { 'Code from the app, or a recovery code': app.code() })
  await press(page, 'Confirm')
  await arrivalWithCode(page, 'safe')
  expect(faults).toEqual([])
  await leave()
})

it('shows which applications have access, ends it, and signs out for an application', async () => {
  const { addressFor, browser, ids, latchkey } = service
  await latchkey.signedUp('iris')
  const phone = { viewport: { width: 390, height: 844 } }
  const { page, faults, leave } = await withApplications(await visitAs(browser, latchkey, 'iris', phone))
  for (const name of ['grafana', 'wiki'] as const) {
    await page.goto(addressFor(name), { waitUntil: 'commit' })
    await arrivalWithCode(page, name)
  }
  await page.goto('/dashboard')
  const list = page.getByRole('list', { name: 'Applications with access' })
  await list.getByText('wiki').waitFor()
  await keepPicture(page, 'openid-applications')
  expect(await smallTargetsOn(page)).toEqual([])
  expect(await isTooWide(page)).toBe(false)
  await page.getByRole('button', { name: 'End access: grafana' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('grafana has no access any more.').waitFor()
  await expect.poll(() => list.getByRole('listitem').allInnerTexts()).toEqual([expect.stringContaining('wiki')])
  await expect.poll(() => focusedName(page)).toBe('Applications with access')

  const ending = `/api/auth/end-session?client_id=${ids.wiki}&post_logout_redirect_uri=https://evil.example.com/`
  await page.goto(ending)
  await page.getByRole('heading', { name: 'Sign out?' }).waitFor()
  await keepPicture(page, 'openid-end-session')
  expect(await smallTargetsOn(page)).toEqual([])
  expect(await isTooWide(page)).toBe(false)
  await page.getByRole('button', { name: 'Stay signed in' }).focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => focusedName(page)).toBe('Still signed in')
  await page.getByRole('link', { name: 'Back to Wiki' }).waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Sign out' }).focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => focusedName(page)).toBe('You are signed out')
  await keepPicture(page, 'openid-signed-out')
  expect(await smallTargetsOn(page)).toEqual([])
  expect(faults).toEqual([])
  await leave()
})

it('lets a device in that shows a code: compared, proven and by name, also by hand and on a phone', async () => {
  const { browser, latchkey } = service
  const place = { home: 'tv.example:/', redirectAddresses: ['tv.example:/cb'], deviceFlow: true }
  const { id: client_id } = await addApplication(latchkey, { name: 'Television', kind: 'native', ...place })
  const begin = async () => {
    const { body } = await postForm(latchkey.url, '/api/auth/device', { client_id, scope: 'openid profile email' })
    return { code: String(body.user_code), deviceCode: String(body.device_code) }
  }
  const poll = async (device_code: string) => {
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
    return (await postForm(latchkey.url, '/api/auth/token', { grant_type, device_code, client_id })).body
  }
  const { page, faults, leave } = await visit(browser, latchkey, { viewport: { width: 390, height: 844 } })
  const first = await begin()
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  // A link leads to the sign-in and back, and decides nothing.
  await page.goto(`/login#device=${first.code}`)
  await signIn(page, 'ada')
  await page.getByText('Your link has filled in this code.').waitFor()
  await keepPicture(page, 'device-link')
  expect(await smallTargetsOn(page)).toEqual([])
  // It asks about its code only after a press: links must not use up the tries of a visitor.
  expect(asked).not.toContain('/api/auth/device/question')
  await press(page, 'Next')
  await page.getByRole('heading', { name: 'Let Television sign in?' }).waitFor()
  await page.getByText(first.code, { exact: true }).waitFor()
  await page.getByText('Only continue if you started this yourself').waitFor()
  const facts = await page.locator('.device-facts').innerText()
  for (const fact of ['Television', 'ada', '127.0.0.1']) expect(facts).toContain(fact)
  expect(await page.getByRole('listitem').allInnerTexts()).toContain('your email address')
  await page.getByText('It stays signed in until you sign it out').waitFor()
  expect((await poll(first.deviceCode)).error).toBe('authorization_pending')
  await keepPicture(page, 'device-question')
  expect(await violationsOn(page)).toEqual([])
  expect(await isTooWide(page)).toBe(false)
  await latchkey.sql.query("update sessions set authenticated_at = now() - interval '1 day'")
  await press(page, 'Yes, sign it in')
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
  await keepPicture(page, 'device-proof')
  expect(await smallTargetsOn(page)).toEqual([])
  await fillIn(page, { Password: goodPassword })
  await press(page, 'Confirm')
  await expect.poll(() => focusedName(page)).toBe('The device is signed in')
  await keepPicture(page, 'device-approved')
  expect(await smallTargetsOn(page)).toEqual([])
  expect((await poll(first.deviceCode)).id_token).toEqual(expect.any(String))
  // By hand, with the keyboard.
  const second = await begin()
  await page.goto('/login#device')
  await page.getByLabel('Code from your device').waitFor()
  await page.keyboard.type('bcdfghjk')
  await page.keyboard.press('Enter')
  await page.getByText('This code is not known').waitFor()
  await keepPicture(page, 'device-unknown-code')
  expect(await smallTargetsOn(page)).toEqual([])
  await fillIn(page, { 'Code from your device': second.code.toLowerCase().replace('-', '') })
  await page.keyboard.press('Enter')
  await page.getByText(second.code, { exact: true }).waitFor()
  await press(page, 'No, this was not me')
  await expect.poll(() => focusedName(page)).toBe('The device is not signed in')
  expect((await poll(second.deviceCode)).error).toBe('access_denied')
  await page.goto('/api/auth/account-page')
  await page.getByText('Television, signed in on its own').waitFor()
  // An approval can be taken back until the device has its tokens.
  const third = await begin()
  await page.goto('/login#device')
  let question: unknown
  const keepQuestion = async (route: Route) => {
    const response = await route.fetch()
    question = await response.json()
    await route.fulfill({ response })
  }
  await page.route('**/api/auth/device/question', keepQuestion, { times: 1 })
  await fillIn(page, { 'Code from your device': third.code })
  await press(page, 'Next')
  // As if somebody else had signed in meanwhile: the question comes again, and its buttons work.
  const askAgain = (route: Route) => route.fulfill({ json: question })
  await page.route('**/api/auth/device/answer', askAgain, { times: 1 })
  await press(page, 'Yes, sign it in')
  await expect.poll(() => focusedName(page)).toBe('Let Television sign in?')
  await press(page, 'Yes, sign it in')
  await press(page, 'Take this back')
  await expect.poll(() => focusedName(page)).toBe('The device is not signed in')
  expect((await poll(third.deviceCode)).error).toBe('access_denied')
  // A session that only a new sign-in can give two factors leads to the login page and back, with the code that was typed.
  const fourth = await begin()
  const demandSignIn = async (route: Route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), next: 'sign_in' } })
  }
  await page.route('**/api/auth/device/question', demandSignIn, { times: 1 })
  await press(page, 'Enter another code')
  await fillIn(page, { 'Code from your device': fourth.code })
  await press(page, 'Next')
  await page.getByText('Sign in to connect your device.').waitFor()
  await signIn(page, 'ada')
  await page.getByText('Your link has filled in this code.').waitFor()
  expect(await page.getByLabel('Code from your device').inputValue()).toBe(fourth.code)
  expect(faults).toEqual([])
  await leave()
})
