import type { SiteLinks } from '../contract/pages.js'
import { type Brand, brandForMails } from './layout.js'
import { mailWordsWith, type OwnTexts } from './own-mail-words.js'
import { createPageAddress } from './write-letter.js'

/** What every mail says about the service. */
export type Letterhead = { publicUrl: string; brand: Brand; from: string; ownTexts?: OwnTexts }

/** The links with full URLs, because a path alone leads nowhere from a mail. */
const fullLinks = ({ links = {} }: Brand, publicUrl: string): SiteLinks =>
  Object.fromEntries(Object.entries(links).map(([name, address]) => [name, new URL(address, publicUrl).href]))

/** The letterhead in the form that letters are written with. */
export const letterSite = ({ brand: configuredBrand, publicUrl, ownTexts = {} }: Letterhead) => {
  const brand = brandForMails(configuredBrand, publicUrl)
  const links = fullLinks(brand, publicUrl)
  const words = mailWordsWith(ownTexts)
  return { brand, site: { productName: brand.name, pageAddress: createPageAddress(publicUrl), links, words } }
}
