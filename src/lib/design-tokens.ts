/**
 * The colours, radii, fonts and sizes of everything that people see, unless THEME_FILE says otherwise (`design`): the pages, the mails,
 * the development mailbox and the pages of the development providers. Style sheets use them as custom properties, mails as they are.
 */
const light = {
  background: '#f5f4f0',
  surface: '#ffffff',
  raised: '#f8f7f4',
  text: '#1b201e',
  muted: '#59625d',
  /** Around cards and between rows. */
  line: '#e2dfd7',
  /** Around buttons and fields, which must stand out from what is behind them. */
  edge: '#838d87',
  danger: '#b3261e',
  'danger-background': '#fdf1ef',
  success: '#17694a',
  'success-background': '#eef7f1',
  'info-background': '#f3f2ec',
  warning: '#8a5600',
  shadow: '0 1px 2px rgb(30 34 32 / 4%),0 12px 32px -8px rgb(30 34 32 / 10%)',
}

export type Colours = typeof light
export type ColourName = Exclude<keyof Colours, 'shadow'>

const dark: Colours = {
  background: '#121413',
  surface: '#1a1d1c',
  raised: '#222624',
  text: '#ebeeec',
  muted: '#a4ada8',
  line: '#2d3330',
  edge: '#79837d',
  danger: '#ff9e93',
  'danger-background': '#2c1b19',
  success: '#7ed8ab',
  'success-background': '#16261f',
  'info-background': '#222624',
  warning: '#f1c46b',
  shadow: '0 1px 2px rgb(0 0 0 / 30%),0 16px 40px -8px rgb(0 0 0 / 45%)',
}

export const colours = { light, dark }

/** The radii of corners in pixels. `mark` is the logo. */
export const radii = { mark: 9, control: 10, panel: 14, card: 16 }

/** The sizes of letters in pixels, at the usual font size of a browser. */
export const fontSizes = { tiny: 13, small: 14, medium: 15, body: 16, section: 17, brand: 18, subtitle: 20, title: 24 }

export const fonts = {
  text: "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans',sans-serif",
  code: "ui-monospace,'SF Mono','Cascadia Mono',Menlo,Consolas,monospace",
}

/** The height of a line, as a multiple of the size of its letters. */
export const lineHeight = 1.5
