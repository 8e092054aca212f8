import { json } from 'node:stream/consumers'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { fillIn, keepPicture, openChromium, press, visitAs } from '../support/chromium.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
let browser: Browser
beforeAll(async () => {
  ;[latchkey, browser] = await Promise.all([startLatchkey(), openChromium()])
})
afterAll(() => latchkey?.stop())

it('lets a user change their names, download their data and delete the account', async () => {
  await latchkey.signedUp('ada')
  await latchkey.signedUp('grace')
  const { page, leave, faults } = await visitAs(browser, latchkey, 'ada')
  await page.goto('/dashboard')

  await press(page, 'Change name or username')
  // Not beside the fields that have it.
  expect(await page.getByRole('region', { name: 'Name and username' }).getByText('ada', { exact: true }).count()).toBe(
    0,
  )
  await fillIn(page, { Name: 'Ada Lovelace', Username: 'grace' })
  await press(page, 'Save')
  await page.getByText('This username is taken').waitFor()
  await latchkey.sql.query(
    `insert into reserved_usernames (username_key, username, user_id, reserved_until)
     select 'ada' || n, 'ada' || n, id, now() + n * interval '1 day' from users, generate_series(3, 7) n where username = 'ada'`,
  )
  await fillIn(page, { Username: 'lovelace' })
  await press(page, 'Save')
  await page.getByText(/one of your last five now, or choose a new one after \d/).waitFor()
  await keepPicture(page, 'too-many-usernames')
  await latchkey.sql.query('delete from reserved_usernames')
  await fillIn(page, { Username: 'lovelace' })
  await keepPicture(page, 'account-names')
  await press(page, 'Save')
  await page.getByText('Your changes are saved.').waitFor()
  await page.getByText('Hello, Ada Lovelace', { exact: true }).waitFor()
  await page.getByText('Username changed').waitFor()
  await press(page, 'Change the language')
  await page.getByRole('combobox', { name: 'Language', exact: true }).selectOption('Deutsch')
  await press(page, 'Save')
  await page.getByRole('region', { name: 'Language of emails' }).getByText('Deutsch', { exact: true }).waitFor()
  await latchkey.mailTo('ada@example.com', /written in German/)

  const downloading = page.waitForEvent('download')
  await press(page, 'Download your data')
  const download = await downloading
  expect(download.suggestedFilename()).toBe('account-data.json')
  expect(await json(await download.createReadStream())).toMatchObject({ account: { username: 'lovelace' } })

  await latchkey.advance(11 * minutes)
  await press(page, 'Delete account')
  await fillIn(page, { 'To confirm, type your username: lovelace': 'ada' })
  await keepPicture(page, 'account-deletion')
  await press(page, 'Delete my account for good')
  // No password is asked for in vain.
  await page.getByText('This is not your username. Nothing was deleted.').waitFor()
  await fillIn(page, { 'To confirm, type your username: lovelace': ' Lovelace ' })
  await press(page, 'Delete my account for good')
  await page.getByRole('dialog').getByRole('textbox', { name: 'Password' }).fill(goodPassword)
  await press(page, 'Confirm')
  await page.getByText('Your account was deleted.').waitFor()
  expect(await latchkey.sql.query('select username from users')).toEqual([{ username: 'grace' }])
  await page.goto('/dashboard')
  await page.waitForURL('**/login?**')
  expect(faults).toEqual([])
  await leave()
})
