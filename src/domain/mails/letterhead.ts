import type { SiteLinks } from '../../contract/site-links.js'
import { type Brand, brandForMails } from './layout.js'
import { mailWordsWith, type OwnTexts } from './own-mail-words.js'
import { addressesOf } from './write-letter.js'

/** The parts about the service that every mail has. */
export type Letterhead = { publicUrl: string; brand: Brand; from: string; ownTexts?: OwnTexts }

/** A path alone leads nowhere from a mail. */
const fullLinks = ({ links = {} }: Brand, publicUrl: string): SiteLinks =>
  Object.fromEntries(Object.entries(links).map(([name, address]) => [name, new URL(address, publicUrl).href]))

/** The letterhead as letters are written with it. */
export const letterSite = ({ brand: configuredBrand, publicUrl, ownTexts = {} }: Letterhead) => {
  const brand = brandForMails(configuredBrand, publicUrl)
  const links = fullLinks(brand, publicUrl)
  const words = mailWordsWith(ownTexts)
  return { brand, site: { productName: brand.name, addresses: addressesOf(publicUrl), links, words } }
}
