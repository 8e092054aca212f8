import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Language } from '#contract/languages.js'
import { faultsOf } from './axe.js'
import { keepPicture } from './chromium.js'
import { inLongRun, isLongRun } from './long-run.js'

const wide = { width: 1280, height: 900 }
/** The smallest window with the columns of a desk: drawing a larger one costs more than what a test does in it. */
export const desk = { width: 900, height: 400 }
export const phone = { width: 390, height: 800 }

/** `src/lib/brand.test.ts` has the colours of both schemes in all pairs. */
export const hasReadableColors = async (page: Page, name: string) => {
  for (const colorScheme of inLongRun(['light', 'dark'] as const, ['dark'] as const)) {
    await page.emulateMedia({ colorScheme })
    await keepPicture(page, `admin-${name}-${colorScheme}`)
    expect(await faultsOf(page, 'colors'), `${name}, ${colorScheme}`).toEqual([])
  }
}

/** Screens of a heading, a button and a table with links, as that of the users is. */
const plainTables = ['invitations', 'groups', 'applications']

/** The window has the size of a phone, and keeps it: each change of it costs as much as a screen. */
export const isFineOnPhone = async (page: Page, name: string) => {
  await keepPicture(page, `admin-${name}-phone`)
  if (isLongRun || !plainTables.includes(name)) expect(await faultsOf(page), name).toEqual([])
  expect(await isTooWide(page), name).toBe(false)
}

const isTooWide = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)

/** In both schemes and both widths, for an eye, and for axe. The window is wide afterwards. */
export const looksRight = async (page: Page, name: string) => {
  for (const viewport of [phone, wide]) {
    await page.setViewportSize(viewport)
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      await keepPicture(page, `admin-${name}-${viewport.width}-${colorScheme}`)
    }
    expect(await isTooWide(page), name).toBe(false)
  }
  expect(await faultsOf(page), name).toEqual([])
}

/** For an eye: the words are longer in these languages. */
export const keepPicturesIn = async (language: Language, page: Page, userId: string) => {
  const screens = [
    'overview',
    'users',
    'invitations',
    'groups',
    'applications',
    'resources',
    'settings',
    'events',
    `users/${userId}`,
  ]
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
  await page.setViewportSize(desk)
}
