import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Language } from '#contract/languages.js'
import { faultsOf } from './axe.js'
import { keepPicture } from './chromium.js'

export const wide = { width: 1280, height: 900 }
export const phone = { width: 390, height: 800 }

/** On a desk and on a phone. The colours in both schemes, if the screen has some that the others have not. */
export const isFineFor = async (page: Page, name: string, hasOwnColors = false) => {
  await page.emulateMedia({ colorScheme: 'light' })
  await keepPicture(page, `admin-${name}`)
  expect(await faultsOf(page, hasOwnColors ? 'all' : 'structure'), name).toEqual([])
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.setViewportSize(phone)
  await keepPicture(page, `admin-${name}-phone`)
  if (hasOwnColors) expect(await faultsOf(page, 'colors'), `${name}, dark`).toEqual([])
  expect(await isTooWide(page), name).toBe(false)
  await page.setViewportSize(wide)
}

const isTooWide = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)

/** For an eye: the words are longer in these languages. */
export const keepPicturesIn = async (language: Language, page: Page, userId: string) => {
  const screens = ['overview', 'users', 'invitations', 'groups', 'applications', 'events', `users/${userId}`]
  for (const screen of screens) {
    await page.goto(`/api/auth/admin?ui_locales=${language}#${screen}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.locator('.spinner').waitFor({ state: 'detached' })
    for (const size of [wide, phone]) {
      await page.setViewportSize(size)
      const name = `admin-${language}-${screen.replace(/\/.*/, '-one')}-${size.width}`
      await keepPicture(page, name)
      expect(await isTooWide(page), name).toBe(false)
    }
  }
  await page.locator('.action-list button').last().click()
  await keepPicture(page, `admin-${language}-delete-${phone.width}`)
  await page.keyboard.press('Escape')
  await page.setViewportSize(wide)
}
