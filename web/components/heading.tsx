import { useEffect, useRef } from 'preact/hooks'
import { moveFocusTo } from '../browser/focus.js'
import { useSettings } from '../hooks/settings.js'

/** A word that is too long for a narrow screen says where it may be divided. */
const softHyphen = '\u00ad'

type Props = {
  text: string
  /** It replaces an element that had the focus. */
  focused?: boolean
}

/** The heading of a state of a page. The title of the tab follows it. */
export const Heading = ({ text, focused = false }: Props) => {
  const { productName } = useSettings()
  const place = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${text.replaceAll(softHyphen, '')} · ${productName}`
  }, [text, productName])
  useEffect(() => {
    if (focused) moveFocusTo(place.current)
  }, [focused])
  return <h1 ref={place}>{text}</h1>
}
