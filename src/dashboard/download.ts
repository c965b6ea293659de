/** Has the browser save what is at an address of this origin. Without a name it is called as the server says. */
export function save(href: string, name = ''): void {
  const link = document.createElement('a');
  link.href = href;
  link.download = name;
  link.click();
}

/** Has the browser save what the page has made. */
export function download(name: string, type: string, parts: BlobPart[]): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  save(url, name);
  URL.revokeObjectURL(url); // a download that has begun keeps what it downloads
}
